/**
 * The last steps: whether a peering service answers, and what it says of its version and its clock. The question is an
 * exchange with a secret that nobody has ever made: that it is refused shows that the service is there, and spends
 * nothing. (An empty secret would not do: a service that has none left may take it for a match.)
 */
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import type { Clock } from '../../state/clock/clock.ts';
import {
  ExchangeSecretRequestSchema,
  LeaderAddressSchema,
  PeerStreamService,
} from '../stream/wire/gen/peering/peerstream_pb.ts';
import { ACCORD_VERSION_HEADER } from '../stream/wire/headers.ts';
import { FOREIGN_TEXT_LENGTH_MAX } from './limits.ts';
import type { Secured } from './open-tls.ts';
import { faulty, passed } from './report.ts';
import type { Step } from './step.ts';

export interface Probe {
  readonly address: string;
  /** The other side's ID of the peering. */
  readonly peerId: string;
  /** A random UUID. */
  readonly unusedSecret: string;
  /** Ours. */
  readonly version: string;
}

/** What a peering service said besides its refusal. */
export interface Said {
  /** Its headers and trailers. */
  readonly metadata: Headers;
  /** When it said so: the middle of the call, milliseconds since 1970 by the clock here. */
  readonly atMs: number;
  /** How far off that may be. */
  readonly uncertaintyMs: number;
}

/** Asks what is at the other end of a secured connection. */
export async function probePeer(
  clock: Clock,
  { socket }: Pick<Secured, 'socket'>,
  probe: Probe,
  signal: AbortSignal,
): Promise<Step<Said>> {
  const baseUrl = `https://${probe.address}`;
  const session = new Http2SessionManager(baseUrl, {}, { createConnection: () => socket });
  const client = createClient(
    PeerStreamService,
    createGrpcTransport({ baseUrl, sessionManager: session, acceptCompression: [], readMaxBytes: ANSWER_BYTES_MAX }),
  );
  const request = create(ExchangeSecretRequestSchema, {
    PeerID: probe.peerId,
    EstablishmentSecret: probe.unusedSecret,
  });
  const startMs = clock.monotonic();
  try {
    await client.exchangeSecret(request, { signal, headers: { [ACCORD_VERSION_HEADER]: probe.version } });
    return { check: faulty('grpc-no-peering', 'it took a secret that nobody has made') };
  } catch (thrown) {
    if (signal.aborted) return { check: faulty('grpc-timed-out') };
    const uncertaintyMs = (clock.monotonic() - startMs) / 2;
    return judge(ConnectError.from(thrown), { atMs: clock.now() - uncertaintyMs, uncertaintyMs });
  } finally {
    session.abort();
  }
}

/** An answer to the exchange is some hundred bytes. */
const ANSWER_BYTES_MAX = 64 * 1024;

function judge(error: ConnectError, when: Omit<Said, 'metadata'>): Step<Said> {
  const detail = `${Code[error.code]}: ${error.rawMessage.slice(0, FOREIGN_TEXT_LENGTH_MAX)}`;
  // A proxy's own 403 would pass for a refusal: only gRPC gives a status of its own.
  const isGrpc = error.metadata.has('grpc-status');
  if (!isGrpc) return { check: faulty(isAnswer(error) ? 'grpc-no-peering' : 'grpc-failed', detail) };
  const value = { metadata: error.metadata, ...when };
  switch (error.code) {
    case Code.PermissionDenied:
      return { check: passed('grpc', 'a peering service'), value };
    case Code.Unimplemented:
      return { check: faulty('grpc-no-peering', detail) };
    default: {
      const [leader] = error.findDetails(LeaderAddressSchema);
      if (leader === undefined) return { check: faulty('grpc-failed', detail), value };
      return { check: faulty('grpc-elsewhere', leader.address.slice(0, FOREIGN_TEXT_LENGTH_MAX)), value };
    }
  }
}

/** Whether an HTTP answer came, rather than a broken connection. */
const isAnswer = ({ cause, rawMessage }: ConnectError): boolean =>
  cause === undefined && /^(HTTP \d|unsupported content type|protocol error)/.test(rawMessage);
