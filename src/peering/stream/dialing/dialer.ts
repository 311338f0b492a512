/**
 * The dialing side of a peering: keeps one stream open to the other cluster. It tries the addresses one after another.
 * When all of them fail, it records the reason and pauses with exponential backoff ([STREAM-89] to [STREAM-95]).
 */
import { Code } from '@connectrpc/connect';
import type { State } from '../../../state/state.ts';
import { BACKOFF_MS_MAX, BACKOFF_MS_MIN, SHORT_STREAMS_MAX, STREAM_STABLE_MS } from '../../limits.ts';
import type { DeadLink } from '../../record/record.ts';
import { tombstones } from '../../record/secrets.ts';
import { isServerAddress } from '../../record/server-address.ts';
import type { SessionEnd } from '../contract.ts';
import { endReason } from '../session-end.ts';
import { recordOpenFailed, recordTerminated } from '../status/stream-record.ts';
import type { DialerDependencies } from '../stream-dependencies.ts';
import { type DialPlan, dialPlan, dialTopics, isSameStream, missingSecretReason } from './dial-plan.ts';
import { dialStream } from './dial-stream.ts';

export async function dialPeering(
  dependencies: DialerDependencies,
  peeringId: string,
  signal: AbortSignal,
): Promise<void> {
  const planNow = (): DialPlan | undefined => dialPlan(dependencies.state.snapshot, dependencies.secrets, peeringId);
  let failures = 0;
  let first: string | undefined;
  while (!signal.aborted) {
    const plan = planNow();
    if (plan === undefined) {
      const loss = missingSecretReason(dependencies.state.snapshot, peeringId);
      if (loss !== undefined) await recordOpenFailed(dependencies.state, peeringId, loss);
      const isOver = (): boolean =>
        planNow() !== undefined || missingSecretReason(dependencies.state.snapshot, peeringId) !== undefined;
      await pause(dependencies, peeringId, undefined, isOver, signal);
      continue;
    }
    const beganMs = dependencies.clock.monotonic();
    const round = await dialRound(dependencies, peeringId, plan, first, signal);
    first = round.kind === 'was-live' && !plan.manual ? round.elsewhere : undefined;
    const hasSettled = round.kind === 'was-live' && dependencies.clock.monotonic() - beganMs >= STREAM_STABLE_MS;
    if (hasSettled) failures = 0;
    // A peer that closes its streams at once is dialed less often, but an unreliable network causes no long pause.
    else if (round.kind === 'was-live') failures = Math.min(failures + 1, SHORT_STREAMS_MAX);
    else failures += 1;
    // The other server stops and has named the server that takes over ([STREAM-90]).
    if (hasSettled && first !== undefined) continue;
    const ceilingMs =
      round.kind === 'displaced' ? BACKOFF_MS_MAX : Math.min(BACKOFF_MS_MIN * 2 ** failures, BACKOFF_MS_MAX);
    // Jitter spreads the reconnects of peers that lost the same server.
    const pauseMs = ceilingMs * (0.5 + dependencies.random() / 2);
    await pause(dependencies, peeringId, pauseMs, () => !isSameStream(plan, planNow()), signal);
  }
}

/** Resolves after `ms` if given, when `isOver` returns true after a change of the peering's rows, or on abort. */
function pause(
  { state, clock }: DialerDependencies,
  peeringId: string,
  ms: number | undefined,
  isOver: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      stopFollowing();
      cancelTimer();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const check = (): void => {
      if (isOver()) end();
    };
    const stopFollowing = state.follow(dialTopics(peeringId), check);
    const cancelTimer = ms === undefined ? (): void => undefined : clock.after(ms, end);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    else check();
  });
}

/**
 * The outcome of a round over all addresses: every address failed, a stream was live (`elsewhere` is the server that
 * takes over), or another stream was current ([STREAM-94]).
 */
type Round =
  | { readonly kind: 'failed' | 'displaced' }
  | { readonly kind: 'was-live'; readonly elsewhere: string | undefined };

/** Tries the addresses of the plan until a stream is live. @param first an address to try before them */
async function dialRound(
  dependencies: DialerDependencies,
  peeringId: string,
  plan: DialPlan,
  first: string | undefined,
  signal: AbortSignal,
): Promise<Round> {
  const failures: string[] = [];
  const addresses = first === undefined ? [...plan.addresses] : [first, ...plan.addresses];
  let usedHint = false;
  let dead: DeadLink | undefined;
  for (let address = addresses.shift(); address !== undefined && !signal.aborted; address = addresses.shift()) {
    const { live, end, problem } = await dialStream(dependencies, peeringId, plan, address, signal);
    await recordEnd(dependencies.state, peeringId, plan, end);
    if (live) return { kind: 'was-live', elsewhere: leaderHint(end) };
    if (end.kind === 'stopped' && problem === undefined) return { kind: 'displaced' };
    const failure = `${address}: ${problem ?? endReason(end)}`;
    dead = deadLink(end);
    if (isFinal(end)) {
      // First, because the reason names only some addresses, and only this one tells what to do.
      failures.unshift(failure);
      break;
    }
    failures.push(failure);
    const hint: string | undefined = usedHint ? undefined : leaderHint(end);
    if (hint !== undefined) addresses.unshift(hint);
    usedHint ||= hint !== undefined;
  }
  if (!signal.aborted && !plan.deleted)
    await recordOpenFailed(dependencies.state, peeringId, failureReason(failures), dead);
  return { kind: 'failed' };
}

/**
 * Records the end of a stream. The tombstone is deleted only when the other side refuses the stream or has terminated
 * the peering itself ([PEER-74]), because a sent `Terminated` may not have arrived.
 */
async function recordEnd(
  state: State,
  peeringId: string,
  { deleted, peerId }: DialPlan,
  end: SessionEnd,
): Promise<void> {
  if (deleted && (isFinal(end) || isAborted(end))) {
    await state.write((tx) => tx.delete(tombstones, peeringId));
  } else if (end.kind === 'terminated-by-peer') {
    await recordTerminated(state, peeringId, peerId);
  }
}

/** Whether every server of the other cluster would answer the same ([STREAM-91]). */
const isFinal = (end: SessionEnd): boolean =>
  end.kind === 'terminated-by-peer' ||
  (end.kind === 'refused' && (end.status.code === Code.PermissionDenied || end.status.code === Code.InvalidArgument));

/** Returns the kind of a refusal that no other address and no later attempt can fix. */
function deadLink(end: SessionEnd): DeadLink | undefined {
  if (end.kind !== 'refused') return undefined;
  const { code, message } = end.status;
  if (code === Code.PermissionDenied) return 'refused';
  return code === Code.InvalidArgument && UNKNOWN_PEERING.test(message) ? 'unknown' : undefined;
}

/** Matches the messages of Accord and of Consul. */
const UNKNOWN_PEERING = /unknown peer/i;

/** Whether the stream was refused because the other side knows of the deletion. Consul uses this status. */
const isAborted = (end: SessionEnd): boolean => end.kind === 'refused' && end.status.code === Code.Aborted;

/** Returns the server in `LeaderAddress`, which is tried next, before any pause ([STREAM-90]). */
function leaderHint(end: SessionEnd): string | undefined {
  const leader = end.kind === 'refused' || end.kind === 'closed-by-peer' ? end.status.leader : undefined;
  return leader !== undefined && isServerAddress(leader) ? leader : undefined;
}

/** Number of addresses in a reason ([PEER-27]). */
const NAMED_MAX = 3;

function failureReason(failures: readonly string[]): string {
  const named = failures.slice(0, NAMED_MAX).join('; ');
  const more = failures.length - NAMED_MAX;
  return more > 0 ? `${named}; and ${more} more addresses` : named;
}
