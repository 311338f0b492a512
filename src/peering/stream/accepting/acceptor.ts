/** The accepting side of streams: what the peer listener serves. */
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from '@connectrpc/connect';
import { toServiceError } from '../../../http/errors.ts';
import { startSpan } from '../../../http/telemetry/tracing.ts';
import { peeringNamed, servedSpan, statusOfServed } from '../../spans.ts';
import type { Authorization, Open, SessionHandle } from '../contract.ts';
import { outgoingResources } from '../exporting/outgoing-resources.ts';
import { incomingResources } from '../importing/incoming-resources.ts';
import { tracedOpening } from '../opening-spans.ts';
import { driveSession } from '../session/drive-session.ts';
import { insightOf } from '../status/delivery-status.ts';
import { createOpenRate, type OpenRate } from '../status/open-rate.ts';
import { acceptOpen, reportTold } from '../status/stream-record.ts';
import { type StreamParts, watchSession } from '../stream-dependencies.ts';
import {
  type ExchangeSecretRequest,
  type ExchangeSecretResponse,
  ExchangeSecretResponseSchema,
  PeerStreamService,
  type ReplicationMessage,
} from '../wire/gen/peering/peerstream_pb.ts';
import { ACCORD_TIME_HEADER, ACCORD_VERSION_HEADER } from '../wire/headers.ts';
import { peerVersionProblem } from '../wire/peer-version.ts';
import type { PresentedSecret } from './exchange-secret.ts';
import { type PeerCall, peerCall } from './peer-listener.ts';

export interface AcceptorParts extends StreamParts {
  /** Spends an establishment secret. @returns a stream secret @throws ServiceError, StateError */
  readonly exchangeSecret: (presented: PresentedSecret) => Promise<string>;
  /** `limits.streams` */
  readonly streamsMax: number;
}

/** A call of another cluster, whatever it came over. */
export interface AcceptedCall extends PeerCall {
  /** What the caller says its version is; null: nothing, so it is no Accord. */
  readonly version: string | null;
  /** Aborts when the connection is gone. */
  readonly gone: AbortSignal;
}

/** The accepting side's half of the protocol. Calls throw ConnectErrors. */
export interface Acceptor {
  exchange(request: ExchangeSecretRequest, call: AcceptedCall): Promise<ExchangeSecretResponse>;
  /** Serves a stream. @returns what goes out on it */
  stream(incoming: AsyncIterable<ReplicationMessage>, call: AcceptedCall): AsyncIterable<ReplicationMessage>;
}

/** The calls of the peer listener. */
export function peerRoutes(
  acceptor: Acceptor,
  { version: ours, clock }: Pick<AcceptorParts, 'version' | 'clock'>,
): (router: ConnectRouter) => void {
  const introduced = (context: HandlerContext): AcceptedCall => {
    context.responseHeader.set(ACCORD_VERSION_HEADER, ours);
    context.responseHeader.set(ACCORD_TIME_HEADER, new Date(clock.now()).toISOString());
    const version = context.requestHeader.get(ACCORD_VERSION_HEADER);
    return { ...peerCall(context.values), version, gone: context.signal };
  };
  return (router) => {
    router.service(PeerStreamService, {
      exchangeSecret: (request, context) => acceptor.exchange(request, introduced(context)),
      async *streamResources(incoming, context) {
        yield* acceptor.stream(incoming, introduced(context));
      },
    });
  };
}

/** Accepts over any transport. */
export function createAcceptor(parts: AcceptorParts): Acceptor {
  const rate = createOpenRate(parts.clock);
  return {
    async exchange(request, call) {
      refuseTooOld(parts, call);
      return await exchange(parts, request, call);
    },
    stream(incoming, call) {
      refuseTooOld(parts, call);
      return serveStream(parts, rate, incoming, call);
    },
  };
}

async function exchange(
  parts: AcceptorParts,
  { PeerID: peerId, EstablishmentSecret: establishmentSecret }: ExchangeSecretRequest,
  { address, gone }: AcceptedCall,
): Promise<ExchangeSecretResponse> {
  const peering = peeringNamed(parts.state.snapshot, peerId);
  const span = startSpan(servedSpan('exchangeSecret', peering, address));
  try {
    const streamSecret = await parts.exchangeSecret({ peerId, establishmentSecret, address, gone });
    return create(ExchangeSecretResponseSchema, { StreamSecret: streamSecret });
  } catch (error) {
    const told = asConnectError(parts, error, peering?.name);
    if (span !== undefined) statusOfServed(span, told.code, told.rawMessage);
    throw told;
  } finally {
    span?.end();
  }
}

function serveStream(
  parts: AcceptorParts,
  rate: OpenRate,
  incoming: AsyncIterable<ReplicationMessage>,
  call: AcceptedCall,
): AsyncIterable<ReplicationMessage> {
  let peeringId: string | undefined;
  let opening: Open | undefined;
  const authorize = async (open: Open): Promise<Authorization> => {
    opening = open;
    const refusal = overLimit(parts);
    if (refusal !== undefined) return refusal;
    const holder = parts.live.holder();
    if (holder === undefined) return elsewhere(parts);
    const outcome = await acceptOpen(parts.state, open, holder, rate);
    if (outcome.kind !== 'accepted') return outcome;
    const { epoch, name } = outcome;
    peeringId = open.PeerID;
    call.prove();
    // Its Open was the first thing received, before it was known whose it was.
    parts.times.received(peeringId, 'open');
    parts.traffic.opened(peeringId);
    const outgoing = outgoingResources(parts, { peeringId, name, side: 'accepting' });
    const incoming = incomingResources(parts, peeringId, Promise.resolve(epoch));
    const insight = insightOf(call.version ?? undefined, outgoing, incoming);
    void parts.live.add({ peeringId, name, side: 'accepting', epoch, session, insight });
    if (insight.peerVersion !== undefined) session.subscribe('digest');
    return { kind: 'accepted', outgoing, incoming };
  };
  const session = driveSession({
    side: 'accepting',
    clock: parts.clock,
    times: parts.sessions,
    owner: {
      ...watchSession(parts, () => peeringId),
      authorize: (open) =>
        tracedOpening(peeringNamed(parts.state.snapshot, open.PeerID), call.address, () => authorize(open)),
    },
  });
  void forgetOnceTold(parts, session, () => opening);
  session.reset.addEventListener('abort', () => call.reset(), { once: true });
  session.receive(incoming, call.gone);
  return session.outgoing;
}

/**
 * Who was told of a deletion, and says that it knows, need not be told again: an Accord says so once it has kept it. A
 * Consul never does, and that it leaves in order proves nothing: its gRPC may end the stream before what came is kept.
 */
async function forgetOnceTold(
  { state, log }: AcceptorParts,
  session: SessionHandle,
  opening: () => Open | undefined,
): Promise<void> {
  const { kind } = await session.ended;
  const open = opening();
  if (kind !== 'terminated-here' || open === undefined) return;
  if (!(await session.confirmed)) return;
  try {
    await reportTold(state, open.PeerID, open.StreamSecretID);
  } catch (error) {
    log.debug({ error }, 'that a peer knows of a deletion could not be kept: its tombstone stays until it expires');
  }
}

/** @throws ConnectError for an Accord that is too old to peer with */
function refuseTooOld({ version }: AcceptorParts, call: AcceptedCall): void {
  const problem = peerVersionProblem(call.version, version);
  if (problem !== undefined) throw new ConnectError(problem, Code.FailedPrecondition);
}

/** Names no other server: whether that has room is not known here, and two that are full would name each other. */
function overLimit({ live, streamsMax }: AcceptorParts): Authorization | undefined {
  if (live.count < streamsMax) return undefined;
  const message = `limits.streams: this server holds ${streamsMax} streams already`;
  return { kind: 'refused', status: { code: Code.ResourceExhausted, message } };
}

/** Refuses what any server with a lease can serve, and names one. */
function elsewhere({ addresses }: AcceptorParts): Authorization {
  const message = 'this server cannot serve streams now';
  return { kind: 'refused', status: { code: Code.FailedPrecondition, message, leader: addresses.elsewhere() } };
}

/** What the other cluster is told of a failure: never more than its kind. */
function asConnectError({ log }: AcceptorParts, error: unknown, peering: string | undefined): ConnectError {
  const { code, message, cause } = toServiceError(error);
  if (code === 'permission-denied') return new ConnectError(message, Code.PermissionDenied);
  if (code === 'internal') log.error({ error: cause ?? error, peering }, 'an exchange of secrets failed');
  else log.warn({ error, peering }, 'an exchange of secrets could not be done');
  return code === 'internal'
    ? new ConnectError('internal error', Code.Internal)
    : new ConnectError('the cluster cannot exchange secrets now', Code.Unavailable);
}
