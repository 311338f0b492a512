/** The accepting side of streams: what the peer listener serves. */
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from '@connectrpc/connect';
import { toServiceError } from '../../http/errors.ts';
import type { PresentedSecret } from '../exchange-secret.ts';
import type { Authorization, Open } from './contract.ts';
import { driveSession } from './drive-session.ts';
import {
  type ExchangeSecretRequest,
  ExchangeSecretResponseSchema,
  PeerStreamService,
  type ReplicationMessage,
} from './gen/peering/peerstream_pb.ts';
import { ACCORD_TIME_HEADER, ACCORD_VERSION_HEADER } from './headers.ts';
import { incomingResources } from './incoming-resources.ts';
import { outgoingResources } from './outgoing-resources.ts';
import { peerCall } from './peer-listener.ts';
import { peerVersionProblem } from './peer-version.ts';
import { type StreamParts, watchSession } from './stream-parts.ts';
import { acceptOpen } from './stream-record.ts';

export interface AcceptorParts extends StreamParts {
  /** Spends an establishment secret. @returns a stream secret @throws ServiceError, StateError */
  readonly exchangeSecret: (presented: PresentedSecret) => Promise<string>;
  /** `limits.streams` */
  readonly streamsMax: number;
}

/** The calls of the peer listener. */
export function peerRoutes(parts: AcceptorParts): (router: ConnectRouter) => void {
  return (router) => {
    router.service(PeerStreamService, {
      exchangeSecret: (request, context) => exchange(parts, request, context),
      streamResources: (incoming, context) => serveStream(parts, incoming, context),
    });
  };
}

async function exchange(parts: AcceptorParts, request: ExchangeSecretRequest, context: HandlerContext) {
  introduce(parts, context);
  const { PeerID: peerId, EstablishmentSecret: establishmentSecret } = request;
  try {
    const address = peerCall(context.values).address;
    const streamSecret = await parts.exchangeSecret({ peerId, establishmentSecret, address });
    return create(ExchangeSecretResponseSchema, { StreamSecret: streamSecret });
  } catch (error) {
    throw asConnectError(parts, error);
  }
}

async function* serveStream(
  parts: AcceptorParts,
  incoming: AsyncIterable<ReplicationMessage>,
  context: HandlerContext,
): AsyncGenerator<ReplicationMessage> {
  introduce(parts, context);
  const call = peerCall(context.values);
  let peeringId: string | undefined;
  const authorize = async (open: Open): Promise<Authorization> => {
    const refusal = overLimit(parts);
    if (refusal !== undefined) return refusal;
    const holder = parts.live.holder();
    if (holder === undefined) return refused(Code.FailedPrecondition, 'this server cannot serve streams now');
    const outcome = await acceptOpen(parts.state, open, holder);
    if (outcome.kind !== 'accepted') return outcome;
    const { epoch, name } = outcome;
    peeringId = open.PeerID;
    call.prove();
    parts.traffic.opened(peeringId);
    void parts.live.add({ peeringId, name, side: 'accepting', epoch, session });
    return {
      kind: 'accepted',
      outgoing: outgoingResources(parts, { peeringId, name, side: 'accepting' }),
      incoming: incomingResources(parts, peeringId, Promise.resolve(epoch)),
    };
  };
  const session = driveSession({
    side: 'accepting',
    clock: parts.clock,
    times: parts.sessions,
    owner: { ...watchSession(parts, () => peeringId), authorize },
  });
  session.reset.addEventListener('abort', () => call.reset(), { once: true });
  session.receive(incoming, context.signal);
  yield* session.outgoing;
}

/** Says what we are, and refuses an Accord that is too old. @throws ConnectError */
function introduce({ version, clock }: AcceptorParts, context: HandlerContext): void {
  context.responseHeader.set(ACCORD_VERSION_HEADER, version);
  context.responseHeader.set(ACCORD_TIME_HEADER, new Date(clock.now()).toISOString());
  const problem = peerVersionProblem(context.requestHeader.get(ACCORD_VERSION_HEADER), version);
  if (problem !== undefined) throw new ConnectError(problem, Code.FailedPrecondition);
}

function overLimit({ live, streamsMax }: AcceptorParts): Authorization | undefined {
  if (live.count < streamsMax) return undefined;
  return refused(Code.ResourceExhausted, `limits.streams: this server holds ${streamsMax} streams already`);
}

const refused = (code: Code, message: string): Authorization => ({ kind: 'refused', status: { code, message } });

/** What the other cluster is told of a failure: never more than its kind. */
function asConnectError({ log }: AcceptorParts, error: unknown): ConnectError {
  const { code, message, cause } = toServiceError(error);
  if (code === 'permission-denied') return new ConnectError(message, Code.PermissionDenied);
  if (code === 'internal') log.error({ error: cause ?? error }, 'an exchange of secrets failed');
  else log.warn({ error }, 'an exchange of secrets could not be done');
  return code === 'internal'
    ? new ConnectError('internal error', Code.Internal)
    : new ConnectError('the cluster cannot exchange secrets now', Code.Unavailable);
}
