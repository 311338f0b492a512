/** The accepting side: the secret exchange and streams of the peer listener. It works over any transport. */
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from '@connectrpc/connect';
import { toServiceError } from '../../../http/errors.ts';
import { startSpan } from '../../../http/telemetry/tracing.ts';
import { lookupPeeringName, serverSpan, setServerSpanStatus } from '../../spans.ts';
import type { Authorization, Open, SessionHandle } from '../contract.ts';
import { outgoingResources } from '../exporting/outgoing-resources.ts';
import { incomingResources } from '../importing/incoming-resources.ts';
import { traceOpen } from '../opening-spans.ts';
import { driveSession } from '../session/drive-session.ts';
import { streamDelivery } from '../status/delivery-status.ts';
import { createOpenRate, type OpenRate } from '../status/open-rate.ts';
import { acceptOpen, confirmDeletion } from '../status/stream-record.ts';
import { recordTraffic, type StreamDependencies } from '../stream-dependencies.ts';
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

export interface AcceptorDependencies extends StreamDependencies {
  /** Uses up an establishment secret. @returns a stream secret @throws ServiceError, StateError */
  readonly exchangeSecret: (presented: PresentedSecret) => Promise<string>;
  /** `limits.streams` */
  readonly streamsMax: number;
}

export interface AcceptedCall extends PeerCall {
  /** The version in `accord-version`. A Consul cluster sends none ([STREAM-12]). */
  readonly version: string | null;
  readonly disconnected: AbortSignal;
}

/** The RPC handlers of the accepting side. They throw `ConnectError`. */
export interface Acceptor {
  exchange(request: ExchangeSecretRequest, call: AcceptedCall): Promise<ExchangeSecretResponse>;
  /** Serves a stream. @returns the outgoing messages */
  stream(incoming: AsyncIterable<ReplicationMessage>, call: AcceptedCall): AsyncIterable<ReplicationMessage>;
}

/** Returns the gRPC routes of the peer listener, with the headers of [STREAM-10]. */
export function peerRoutes(
  acceptor: Acceptor,
  { version: ours, clock }: Pick<AcceptorDependencies, 'version' | 'clock'>,
): (router: ConnectRouter) => void {
  const acceptedCall = (context: HandlerContext): AcceptedCall => {
    context.responseHeader.set(ACCORD_VERSION_HEADER, ours);
    context.responseHeader.set(ACCORD_TIME_HEADER, new Date(clock.now()).toISOString());
    const version = context.requestHeader.get(ACCORD_VERSION_HEADER);
    return { ...peerCall(context.values), version, disconnected: context.signal };
  };
  return (router) => {
    router.service(PeerStreamService, {
      exchangeSecret: (request, context) => acceptor.exchange(request, acceptedCall(context)),
      async *streamResources(incoming, context) {
        yield* acceptor.stream(incoming, acceptedCall(context));
      },
    });
  };
}

export function createAcceptor(dependencies: AcceptorDependencies): Acceptor {
  const rate = createOpenRate(dependencies.clock);
  return {
    async exchange(request, call) {
      rejectOldVersion(dependencies, call);
      return await exchange(dependencies, request, call);
    },
    stream(incoming, call) {
      rejectOldVersion(dependencies, call);
      return serveStream(dependencies, rate, incoming, call);
    },
  };
}

async function exchange(
  dependencies: AcceptorDependencies,
  { PeerID: peerId, EstablishmentSecret: establishmentSecret }: ExchangeSecretRequest,
  { address, disconnected: gone }: AcceptedCall,
): Promise<ExchangeSecretResponse> {
  const peering = lookupPeeringName(dependencies.state.snapshot, peerId);
  const span = startSpan(serverSpan('exchangeSecret', peering, address));
  try {
    const streamSecret = await dependencies.exchangeSecret({
      peerId,
      establishmentSecret,
      address,
      disconnected: gone,
    });
    return create(ExchangeSecretResponseSchema, { StreamSecret: streamSecret });
  } catch (error) {
    const connectError = toConnectError(dependencies, error, peering?.name);
    if (span !== undefined) setServerSpanStatus(span, connectError.code, connectError.rawMessage);
    throw connectError;
  } finally {
    span?.end();
  }
}

function serveStream(
  dependencies: AcceptorDependencies,
  rate: OpenRate,
  incoming: AsyncIterable<ReplicationMessage>,
  call: AcceptedCall,
): AsyncIterable<ReplicationMessage> {
  let peeringId: string | undefined;
  let opening: Open | undefined;
  const authorize = async (open: Open): Promise<Authorization> => {
    opening = open;
    const refusal = limitRefusal(dependencies);
    if (refusal !== undefined) return refusal;
    const holder = dependencies.live.holder();
    if (holder === undefined) return leaseRefusal(dependencies);
    const outcome = await acceptOpen(dependencies.state, open, holder, rate);
    if (outcome.kind !== 'accepted') return outcome;
    const { epoch, name } = outcome;
    peeringId = open.PeerID;
    call.markAuthenticated();
    // Counts the `Open`, which was received before its peering was known.
    dependencies.times.received(peeringId, 'open');
    dependencies.traffic.opened(peeringId);
    const outgoing = outgoingResources(dependencies, { peeringId, name, side: 'accepting' });
    const incoming = incomingResources(dependencies, peeringId, Promise.resolve(epoch));
    const delivery = streamDelivery(call.version ?? undefined, outgoing, incoming);
    void dependencies.live.add({ peeringId, name, side: 'accepting', epoch, session, delivery });
    if (delivery.peerVersion !== undefined) session.subscribe('digest');
    return { kind: 'accepted', outgoing, incoming };
  };
  const session = driveSession({
    side: 'accepting',
    clock: dependencies.clock,
    times: dependencies.sessions,
    callbacks: {
      ...recordTraffic(dependencies, () => peeringId),
      authorize: (open) =>
        traceOpen(lookupPeeringName(dependencies.state.snapshot, open.PeerID), call.address, () => authorize(open)),
    },
  });
  void removeConfirmedTombstone(dependencies, session, () => opening);
  session.reset.addEventListener('abort', () => call.reset(), { once: true });
  session.receive(incoming, call.disconnected);
  return session.outgoing;
}

/**
 * Removes the tombstone of a peer that has confirmed the deletion ([PEER-74]). Accord confirms after it has committed
 * the deletion ([STREAM-83]). Consul never confirms: a stream that it closes in order may have ended before its commit.
 */
async function removeConfirmedTombstone(
  { state, log }: AcceptorDependencies,
  session: SessionHandle,
  opening: () => Open | undefined,
): Promise<void> {
  const { kind } = await session.ended;
  const open = opening();
  if (kind !== 'terminated-here' || open === undefined) return;
  if (!(await session.confirmed)) return;
  try {
    await confirmDeletion(state, open.PeerID, open.StreamSecretID);
  } catch (error) {
    log.debug({ error }, 'tombstone not removed');
  }
}

/** @throws ConnectError `failed-precondition` if the peer runs an unsupported version of Accord ([STREAM-11]) */
function rejectOldVersion({ version }: AcceptorDependencies, call: AcceptedCall): void {
  const problem = peerVersionProblem(call.version, version);
  if (problem !== undefined) throw new ConnectError(problem, Code.FailedPrecondition);
}

/** Returns a refusal without `LeaderAddress`, because two servers at their limit would name each other. */
function limitRefusal({ live, streamsMax }: AcceptorDependencies): Authorization | undefined {
  if (live.count < streamsMax) return undefined;
  const message = `limits.streams: this server holds ${streamsMax} streams already`;
  return { kind: 'refused', status: { code: Code.ResourceExhausted, message } };
}

function leaseRefusal({ addresses }: AcceptorDependencies): Authorization {
  const message = 'this server cannot serve streams now';
  return { kind: 'refused', status: { code: Code.FailedPrecondition, message, leader: addresses.otherServer() } };
}

/** Returns the error for the other cluster. It reveals no detail of a failure ([STREAM-21]). */
function toConnectError({ log }: AcceptorDependencies, error: unknown, peering: string | undefined): ConnectError {
  const { code, message, cause } = toServiceError(error);
  if (code === 'permission-denied') return new ConnectError(message, Code.PermissionDenied);
  if (code === 'internal') log.error({ error: cause ?? error, peering }, 'secret exchange failed');
  else log.warn({ error, peering }, 'secret exchange unavailable');
  return code === 'internal'
    ? new ConnectError('internal error', Code.Internal)
    : new ConnectError('the cluster cannot exchange secrets now', Code.Unavailable);
}
