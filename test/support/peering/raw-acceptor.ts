/** An accepting peer that can answer with anything. It does not use the code under test. */
import { once } from 'node:events';
import {
  constants,
  createSecureServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import { createSecretStore } from '../../../src/peering/record/encrypted-secret.ts';
import { ExchangeSecretResponseSchema } from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { encodeToken, type PeeringToken } from '../../../src/peering/token/token.ts';
import { clusterName } from '../../../src/peering/trust/cluster-name.ts';
import { createAuthority } from '../../../src/peering/trust/issue-certificates.ts';
import { EXCHANGE_PATH, grpcFrame } from './raw-peer.ts';

/** The certificates of a cluster that does not exist. */
export interface RawIdentity {
  readonly root: string;
  readonly certificate: string;
  readonly key: string;
  readonly serverName: string;
  readonly trustDomain: string;
}

/** Creates the certificates of a cluster at the time `nowMs`. */
export async function makeIdentity(clusterId: string = crypto.randomUUID(), nowMs = Date.now()): Promise<RawIdentity> {
  const name = clusterName(clusterId, 'dc1');
  const secrets = createSecretStore(undefined);
  const { root, server } = await createAuthority({ name, secrets, nowMs });
  const { serverName, trustDomain } = name;
  return {
    root: root.certificate,
    certificate: server.certificate,
    key: secrets.decrypt(server.key, ''),
    serverName,
    trustDomain,
  };
}

/** Answers a call. */
export type CallHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

export interface RawAcceptorOptions {
  /** The identity in the token. Defaults to a new one. */
  readonly identity?: RawIdentity;
  /** The identity that the listener serves. Defaults to the one in the token. */
  readonly served?: RawIdentity;
  /** Defaults to `sendSecret`. */
  readonly exchange?: CallHandler;
  /** Defaults to sending nothing. */
  readonly stream?: CallHandler;
  readonly onSession?: (session: ServerHttp2Session) => void;
  readonly tlsOptions?: SecureServerOptions;
}

export interface RawAcceptor extends AsyncDisposable {
  readonly address: string;
  readonly identity: RawIdentity;
  /** The number of `StreamResources` calls so far. */
  readonly streams: number;
  /** Replaces the handler of streams. */
  handleStreams(stream: CallHandler): void;
  /** Creates a token with this acceptor's address. */
  token(change?: Partial<PeeringToken>): string;
}

/** Ends a call with gRPC trailers. */
export function endWithTrailers(stream: ServerHttp2Stream, trailers: Readonly<Record<string, string>>): void {
  if (stream.destroyed || stream.writableEnded) return;
  if (!stream.headersSent) sendHeaders(stream);
  stream.once('wantTrailers', () => stream.sendTrailers(trailers));
  stream.end();
}

/** Starts a gRPC response. */
export function sendHeaders(stream: ServerHttp2Stream, headers: Readonly<Record<string, string>> = {}): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...headers }, { waitForTrailers: true });
}

/** Answers an `ExchangeSecret` call. */
export function sendSecret(stream: ServerHttp2Stream, StreamSecret: string = crypto.randomUUID()): void {
  sendHeaders(stream);
  const response = create(ExchangeSecretResponseSchema, { StreamSecret });
  stream.write(grpcFrame(toBinary(ExchangeSecretResponseSchema, response)));
  endWithTrailers(stream, { 'grpc-status': '0' });
}

/** Starts a raw acceptor on loopback. */
export async function startRawAcceptor(options: RawAcceptorOptions = {}): Promise<RawAcceptor> {
  const identity = options.identity ?? (await makeIdentity());
  const served = options.served ?? identity;
  const sessions = new Set<ServerHttp2Session>();
  let streams = 0;
  let answer: CallHandler = options.stream ?? (() => undefined);
  const server = createSecureServer({ cert: served.certificate, key: served.key, ...options.tlsOptions });
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.on('error', () => undefined);
    options.onSession?.(session);
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => undefined);
    if (headers[constants.HTTP2_HEADER_PATH] === EXCHANGE_PATH) {
      stream.resume();
      (options.exchange ?? ((call) => sendSecret(call)))(stream, headers);
    } else {
      streams += 1;
      // End the call when the caller has ended its half.
      stream.on('end', () => endWithTrailers(stream, { 'grpc-status': '0' }));
      answer(stream, headers);
      if (stream.readableFlowing === null) stream.resume();
    }
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    address,
    identity,
    get streams() {
      return streams;
    },
    handleStreams(stream) {
      answer = stream;
    },
    token: (change) =>
      encodeToken({
        CA: [identity.root],
        ManualServerAddresses: null,
        ServerAddresses: [address],
        ServerName: identity.serverName,
        PeerID: crypto.randomUUID(),
        EstablishmentSecret: crypto.randomUUID(),
        Remote: { Partition: 'default', Datacenter: 'dc1', Locality: null },
        ...change,
      }),
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
