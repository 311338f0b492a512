/** What the tests of this part share: servers of every kind that could stand at the address of a peer. */
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import http2 from 'node:http2';
import net from 'node:net';
import type { TestContext } from 'node:test';
import tls from 'node:tls';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { systemClock } from '../../state/clock/clock.ts';
import { createSecretStore } from '../record/encrypted-secret.ts';
import { type ExchangeSecretRequest, PeerStreamService } from '../stream/wire/gen/peering/peerstream_pb.ts';
import { serverKeyPlace } from '../trust/authority.ts';
import { makeAuthority, makeServerCertificate } from '../trust/make-certificates.ts';
import { clusterName } from '../trust/names.ts';
import { checkAddress, type Peer, type Surroundings } from './check-address.ts';
import type { Check } from './report.ts';
import { systemResolve } from './resolve-host.ts';

/** A cluster as its peers see it. */
export interface TestCluster {
  readonly serverName: string;
  readonly roots: readonly string[];
  readonly cert: string;
  readonly key: string;
}

export const HOUR_MS = 3_600_000;

/** @param ageMs how old its server certificate is; negative: it is of the future */
export async function makeCluster(ageMs = 0): Promise<TestCluster> {
  const name = clusterName(randomUUID(), 'dc2');
  const secrets = createSecretStore(undefined);
  const authority = await makeAuthority({ name, secrets, nowMs: Date.now() });
  const nowMs = Date.now() - ageMs;
  const { certificate, key } = await makeServerCertificate(authority, { name, secrets, nowMs });
  return {
    serverName: name.serverName,
    roots: [authority.root.certificate],
    cert: certificate,
    key: secrets.open(key, serverKeyPlace(authority.id)),
  };
}

/** A server that lives as long as the test, and emits what it meets. */
export interface TestServer {
  readonly address: string;
  /** `connection`, `data`, `request`. */
  readonly met: EventEmitter;
  /** Connections that are open. */
  open(): Promise<number>;
}

async function listen(t: TestContext, server: net.Server, met = new EventEmitter()): Promise<TestServer> {
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    met.emit('connection', socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as net.AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    met,
    open: () => new Promise((resolve, reject) => server.getConnections((e, count) => (e ? reject(e) : resolve(count)))),
  };
}

/** Plain TCP; `answer` says what it does with the first bytes. */
export function startTcp(t: TestContext, answer: (socket: net.Socket) => void): Promise<TestServer> {
  const met = new EventEmitter();
  const server = net.createServer((socket) => {
    socket.once('data', () => {
      met.emit('data');
      answer(socket);
    });
  });
  return listen(t, server, met);
}

/** TLS that offers these protocols, and says nothing more. */
export function startTls(t: TestContext, { cert, key }: TestCluster, protocols: string[]): Promise<TestServer> {
  const server = tls.createServer({ cert, key, ALPNProtocols: protocols });
  server.on('tlsClientError', () => undefined);
  server.on('secureConnection', (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  });
  return listen(t, server);
}

/** HTTP/2 over TLS without gRPC. */
export function startHttp2(
  t: TestContext,
  { cert, key }: TestCluster,
  answer: (stream: http2.ServerHttp2Stream) => void,
): Promise<TestServer> {
  const met = new EventEmitter();
  const server = http2.createSecureServer({ cert, key });
  server.on('sessionError', () => undefined);
  server.on('stream', (stream: http2.ServerHttp2Stream) => {
    met.emit('request');
    answer(stream);
  });
  return listen(t, server, met);
}

type Exchange = (request: ExchangeSecretRequest, context: HandlerContext) => Promise<never>;

/** A peering service; without `exchange` a gRPC server of something else. */
export function startPeer(t: TestContext, { cert, key }: TestCluster, exchange?: Exchange): Promise<TestServer> {
  const met = new EventEmitter();
  const service: Partial<ServiceImpl<typeof PeerStreamService>> =
    exchange === undefined
      ? {}
      : {
          exchangeSecret(request, context) {
            met.emit('request', request);
            return exchange(request, context);
          },
        };
  const handler = connectNodeAdapter({
    routes: (router) => {
      if (exchange !== undefined) router.service(PeerStreamService, service);
    },
  });
  const server = http2.createSecureServer({ cert, key }, handler);
  server.on('sessionError', () => undefined);
  return listen(t, server, met);
}

export const UNUSED_SECRET = '6f0a5f0e-1f4f-4c38-9d19-0c0a9f0a3f55';
export const PEER_ID = '1b7bd4ae-3c86-4f3c-8d6b-b9d5a7a5d0c1';

/** What checks get from around in tests. */
export const around: Surroundings = {
  clock: systemClock,
  resolve: systemResolve,
  version: '1.14.0',
  randomId: () => UNUSED_SECRET,
};

/** The peer that a cluster is to who dials it. */
export const peerOf = ({ serverName, roots }: TestCluster): Peer => ({ id: PEER_ID, serverName, roots });

/** Checks an address under a signal that nothing aborts unless one is given. */
export const checkOne = (
  address: string,
  peer: Peer,
  signal: AbortSignal = new AbortController().signal,
  changed: Partial<Surroundings> = {},
): Promise<Check[]> => checkAddress({ ...around, ...changed }, address, peer, signal);

/** `dns passed`, `tcp failed tcp-refused`, …: what was tried. */
export const summary = (checks: readonly Check[]): string[] =>
  checks
    .filter(({ Status }) => Status !== 'skipped')
    .map(({ ID, Status, Code }) => (Code === undefined ? `${ID} ${Status}` : `${ID} ${Status} ${Code}`));

/** Aborts when the event happens. */
export function abortOn(emitter: EventEmitter, event: string): AbortSignal {
  const controller = new AbortController();
  emitter.once(event, () => controller.abort());
  return controller.signal;
}
