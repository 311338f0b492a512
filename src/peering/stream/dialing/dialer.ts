/**
 * The dialing side of a peering: keeps a stream to the other cluster, for as long as this server is the one that dials.
 * Addresses are tried one after another; when all have failed, the record says why, and a pause follows that doubles.
 */
import { Code } from '@connectrpc/connect';
import type { State } from '../../../state/state.ts';
import { BACKOFF_MS_MAX, BACKOFF_MS_MIN, BRIEF_STREAMS_MAX, STREAM_SETTLED_MS } from '../../limits.ts';
import type { DeadLink } from '../../record/record.ts';
import { tombstones } from '../../record/secrets.ts';
import { isServerAddress } from '../../record/server-address.ts';
import type { SessionEnd } from '../contract.ts';
import { endReason } from '../session-end.ts';
import { reportRefused, reportTerminated } from '../status/stream-record.ts';
import type { DialerParts } from '../stream-dependencies.ts';
import { type DialPlan, dialPlan, dialTopics, sameStream, untoldLoss } from './dial-plan.ts';
import { dialStream } from './dial-stream.ts';

/** Dials until `signal` aborts. */
export async function dialPeering(parts: DialerParts, peeringId: string, signal: AbortSignal): Promise<void> {
  const planNow = (): DialPlan | undefined => dialPlan(parts.state.snapshot, parts.secrets, peeringId);
  let failures = 0;
  let first: string | undefined;
  while (!signal.aborted) {
    const plan = planNow();
    if (plan === undefined) {
      const loss = untoldLoss(parts.state.snapshot, peeringId);
      if (loss !== undefined) await reportRefused(parts.state, peeringId, loss);
      const isOver = (): boolean =>
        planNow() !== undefined || untoldLoss(parts.state.snapshot, peeringId) !== undefined;
      await pause(parts, peeringId, undefined, isOver, signal);
      continue;
    }
    const beganMs = parts.clock.monotonic();
    const round = await dialRound(parts, peeringId, plan, first, signal);
    first = round.kind === 'was-live' && !plan.manual ? round.elsewhere : undefined;
    const hasSettled = round.kind === 'was-live' && parts.clock.monotonic() - beganMs >= STREAM_SETTLED_MS;
    if (hasSettled) failures = 0;
    // Who ends streams as soon as they are live gets ever fewer of them, but a bad network is not waited out for long.
    else if (round.kind === 'was-live') failures = Math.min(failures + 1, BRIEF_STREAMS_MAX);
    else failures += 1;
    // The server that held the stream goes, and has said which one stays.
    if (hasSettled && first !== undefined) continue;
    const ceilingMs =
      round.kind === 'displaced' ? BACKOFF_MS_MAX : Math.min(BACKOFF_MS_MIN * 2 ** failures, BACKOFF_MS_MAX);
    // With jitter: peers that lost the same server must not come back at the same moment.
    const pauseMs = ceilingMs * (0.5 + parts.random() / 2);
    await pause(parts, peeringId, pauseMs, () => !sameStream(plan, planNow()), signal);
  }
}

/** Until `ms` have passed, if given, or the rows of the peering say that it `isOver`, or the signal aborts. */
function pause(
  { state, clock }: DialerParts,
  peeringId: string,
  ms: number | undefined,
  isOver: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      forget();
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const look = (): void => {
      if (isOver()) end();
    };
    const forget = state.follow(dialTopics(peeringId), look);
    const cancel = ms === undefined ? (): void => undefined : clock.after(ms, end);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    else look();
  });
}

/**
 * How a round over all addresses ended: no stream was had, one was live (and the other side may have named the server
 * that takes over), or this server should not have dialed.
 */
type Round =
  | { readonly kind: 'failed' | 'displaced' }
  | { readonly kind: 'was-live'; readonly elsewhere: string | undefined };

/** @param first an address to be tried before those of the plan */
async function dialRound(
  parts: DialerParts,
  peeringId: string,
  plan: DialPlan,
  first: string | undefined,
  signal: AbortSignal,
): Promise<Round> {
  const failures: string[] = [];
  const addresses = first === undefined ? [...plan.addresses] : [first, ...plan.addresses];
  let hinted = false;
  let dead: DeadLink | undefined;
  for (let address = addresses.shift(); address !== undefined && !signal.aborted; address = addresses.shift()) {
    const { live, end, problem } = await dialStream(parts, peeringId, plan, address, signal);
    await tellEnd(parts.state, peeringId, plan, end);
    if (live) return { kind: 'was-live', elsewhere: leaderHint(end) };
    if (end.kind === 'stopped' && problem === undefined) return { kind: 'displaced' };
    failures.push(`${address}: ${problem ?? endReason(end)}`);
    dead = deadLink(end);
    if (isFinal(end)) break;
    const hint: string | undefined = hinted ? undefined : leaderHint(end);
    if (hint !== undefined) addresses.unshift(hint);
    hinted ||= hint !== undefined;
  }
  if (!signal.aborted && !plan.deleted) await reportRefused(parts.state, peeringId, summary(failures), dead);
  return { kind: 'failed' };
}

/**
 * What the other side said at the end outlives the stream. That a deletion was written does not mean that it has arrived:
 * it is told until the other side refuses the stream, as one that knows does.
 */
async function tellEnd(state: State, peeringId: string, { deleted, peerId }: DialPlan, end: SessionEnd): Promise<void> {
  if (deleted && (isFinal(end) || isEndedThere(end))) {
    await state.write((tx) => tx.delete(tombstones, peeringId));
  } else if (end.kind === 'terminated-by-peer') {
    await reportTerminated(state, peeringId, peerId);
  }
}

/** Every server of that cluster would say the same: it has deleted the peering, or does not know it or its secret. */
const isFinal = (end: SessionEnd): boolean =>
  end.kind === 'terminated-by-peer' ||
  (end.kind === 'refused' && (end.status.code === Code.PermissionDenied || end.status.code === Code.InvalidArgument));

/** What a refusal says of the link itself, which no other address and no later attempt would mend. */
function deadLink(end: SessionEnd): DeadLink | undefined {
  if (end.kind !== 'refused') return undefined;
  const { code, message } = end.status;
  if (code === Code.PermissionDenied) return 'refused';
  return code === Code.InvalidArgument && UNKNOWN_PEERING.test(message) ? 'unknown' : undefined;
}

/** In the words of Accord, and of Consul. */
const UNKNOWN_PEERING = /unknown peer/i;

/** How Consul refuses a stream of a peering that it was told is deleted. */
const isEndedThere = (end: SessionEnd): boolean => end.kind === 'refused' && end.status.code === Code.Aborted;

/** The server that the other side says can serve the stream, now or from now on: tried next, and before any pause. */
function leaderHint(end: SessionEnd): string | undefined {
  const leader = end.kind === 'refused' || end.kind === 'closed-by-peer' ? end.status.leader : undefined;
  return leader !== undefined && isServerAddress(leader) ? leader : undefined;
}

/** Addresses that a reason names one by one. */
const NAMED_MAX = 3;

function summary(failures: readonly string[]): string {
  const named = failures.slice(0, NAMED_MAX).join('; ');
  const more = failures.length - NAMED_MAX;
  return more > 0 ? `${named}; and ${more} more addresses` : named;
}
