/**
 * The step `grpc`: calls `ExchangeSecret` with a random secret. The refusal proves that a peering service answers, and
 * uses up no token ([PEER-97]). An empty secret is not safe, because a service without a secret may accept it.
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
import type { SecureConnection } from './open-tls.ts';
import { finding, passed, type Step } from './report.ts';

export interface Probe {
  readonly address: string;
  /** The other side's ID of the peering. */
  readonly peerId: string;
  readonly unusedSecret: string;
  /** The version of this server. */
  readonly version: string;
}

export interface PeerInfo {
  /** Headers and trailers. */
  readonly metadata: Headers;
  /** The middle of the call, in milliseconds since 1970 by the clock of this server. */
  readonly atMs: number;
  readonly uncertaintyMs: number;
}

/** Calls the service at the other end of an authenticated connection. */
export async function probePeer(
  clock: Clock,
  { socket }: Pick<SecureConnection, 'socket'>,
  probe: Probe,
  signal: AbortSignal,
): Promise<Step<PeerInfo>> {
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
    return { check: finding('grpc-no-peering', 'it accepted a random secret') };
  } catch (thrown) {
    if (signal.aborted) return { check: finding('grpc-timed-out') };
    const uncertaintyMs = (clock.monotonic() - startMs) / 2;
    return interpretError(ConnectError.from(thrown), { atMs: clock.now() - uncertaintyMs, uncertaintyMs });
  } finally {
    session.abort();
  }
}

/** A response to the exchange has a few hundred bytes. */
const ANSWER_BYTES_MAX = 64 * 1024;

function interpretError(error: ConnectError, when: Omit<PeerInfo, 'metadata'>): Step<PeerInfo> {
  const detail = `${Code[error.code]}: ${error.rawMessage.slice(0, FOREIGN_TEXT_LENGTH_MAX)}`;
  // A 403 of a proxy is not a refusal of the service. Only gRPC sets `grpc-status`.
  const isGrpc = error.metadata.has('grpc-status');
  if (!isGrpc) return { check: finding(isAnswer(error) ? 'grpc-no-peering' : 'grpc-failed', detail) };
  const value = { metadata: error.metadata, ...when };
  switch (error.code) {
    case Code.PermissionDenied:
      return { check: passed('grpc', 'a peering service'), value };
    case Code.Unimplemented:
      return { check: finding('grpc-no-peering', detail) };
    default: {
      const [leader] = error.findDetails(LeaderAddressSchema);
      if (leader === undefined) return { check: finding('grpc-failed', detail), value };
      return { check: finding('grpc-elsewhere', leader.address.slice(0, FOREIGN_TEXT_LENGTH_MAX)), value };
    }
  }
}

/** Whether the error is an HTTP response and not a broken connection. */
const isAnswer = ({ cause, rawMessage }: ConnectError): boolean =>
  cause === undefined && /^(HTTP \d|unsupported content type|protocol error)/.test(rawMessage);
