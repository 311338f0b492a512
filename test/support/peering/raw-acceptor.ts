/** An accepting peer that keeps to nothing: a cluster that somebody was given a token of, without the code under test. */
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
import { makeAuthority } from '../../../src/peering/trust/make-certificates.ts';
import { clusterName } from '../../../src/peering/trust/names.ts';
import { EXCHANGE_PATH, framed } from './raw-peer.ts';

/** Certificates of a cluster that does not exist. */
export interface RawIdentity {
  readonly root: string;
  readonly certificate: string;
  readonly key: string;
  readonly serverName: string;
  readonly trustDomain: string;
}

/** Makes them, under a root of their own, as of `nowMs`. */
export async function makeIdentity(clusterId: string = crypto.randomUUID(), nowMs = Date.now()): Promise<RawIdentity> {
  const name = clusterName(clusterId, 'dc1');
  const secrets = createSecretStore(undefined);
  const { root, server } = await makeAuthority({ name, secrets, nowMs });
  const { serverName, trustDomain } = name;
  return {
    root: root.certificate,
    certificate: server.certificate,
    key: secrets.open(server.key, ''),
    serverName,
    trustDomain,
  };
}

/** Answers a call in whatever way. */
export type Answering = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

export interface RawAcceptorOptions {
  /** What the token names; that of a new cluster unless given. */
  readonly identity?: RawIdentity;
  /** What is served; as the token names it unless given. */
  readonly served?: RawIdentity;
  /** Gives a good secret unless given. */
  readonly exchange?: Answering;
  /** Says nothing unless given. */
  readonly stream?: Answering;
  readonly session?: (session: ServerHttp2Session) => void;
  readonly settings?: SecureServerOptions;
}

export interface RawAcceptor extends AsyncDisposable {
  readonly address: string;
  readonly identity: RawIdentity;
  /** Calls of the stream's method so far. */
  readonly streams: number;
  /** How streams are answered from now on. */
  answer(stream: Answering): void;
  /** A token that leads here. */
  token(change?: Partial<PeeringToken>): string;
}

/** Answers with gRPC's trailers: the status, and no error of HTTP. */
export function endWith(stream: ServerHttp2Stream, trailers: Readonly<Record<string, string>>): void {
  if (stream.destroyed || stream.writableEnded) return;
  if (!stream.headersSent) greet(stream);
  stream.once('wantTrailers', () => stream.sendTrailers(trailers));
  stream.end();
}

/** Begins an answer of gRPC. */
export function greet(stream: ServerHttp2Stream, headers: Readonly<Record<string, string>> = {}): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...headers }, { waitForTrailers: true });
}

/** Gives a stream secret. */
export function giveSecret(stream: ServerHttp2Stream, StreamSecret: string = crypto.randomUUID()): void {
  greet(stream);
  const response = create(ExchangeSecretResponseSchema, { StreamSecret });
  stream.write(framed(toBinary(ExchangeSecretResponseSchema, response)));
  endWith(stream, { 'grpc-status': '0' });
}

/** Starts one on loopback. */
export async function startRawAcceptor(options: RawAcceptorOptions = {}): Promise<RawAcceptor> {
  const identity = options.identity ?? (await makeIdentity());
  const served = options.served ?? identity;
  const sessions = new Set<ServerHttp2Session>();
  let streams = 0;
  let answer: Answering = options.stream ?? (() => undefined);
  const server = createSecureServer({ cert: served.certificate, key: served.key, ...options.settings });
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.on('error', () => undefined);
    options.session?.(session);
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.on('error', () => undefined);
    if (headers[constants.HTTP2_HEADER_PATH] === EXCHANGE_PATH) {
      stream.resume();
      (options.exchange ?? ((call) => giveSecret(call)))(stream, headers);
    } else {
      streams += 1;
      // Who is left leaves.
      stream.on('end', () => endWith(stream, { 'grpc-status': '0' }));
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
    answer(stream) {
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
