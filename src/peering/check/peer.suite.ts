/** Fixtures of the connection check: the kinds of servers that can listen at the address of a peer. */
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
import { createDeniedNetworks } from '../stream/dialing/denied-networks.ts';
import { type ExchangeSecretRequest, PeerStreamService } from '../stream/wire/gen/peering/peerstream_pb.ts';
import { serverKeyPlace } from '../trust/authority.ts';
import { clusterName } from '../trust/cluster-name.ts';
import { createAuthority, issueServerCertificate } from '../trust/issue-certificates.ts';
import { type CheckEnvironment, checkAddress, type Peer } from './check-address.ts';
import type { Check } from './report.ts';
import { systemResolve } from './resolve-host.ts';

/** The identity of a cluster. */
export interface TestCluster {
  readonly serverName: string;
  readonly roots: readonly string[];
  readonly cert: string;
  readonly key: string;
}

export const HOUR_MS = 3_600_000;

/** @param ageMs the age of its server certificate. A negative one is not valid yet. */
export async function makeCluster(ageMs = 0): Promise<TestCluster> {
  const name = clusterName(randomUUID(), 'dc2');
  const secrets = createSecretStore(undefined);
  const authority = await createAuthority({ name, secrets, nowMs: Date.now() });
  const nowMs = Date.now() - ageMs;
  const { certificate, key } = await issueServerCertificate(authority, { name, secrets, nowMs });
  return {
    serverName: name.serverName,
    roots: [authority.root.certificate],
    cert: certificate,
    key: secrets.decrypt(key, serverKeyPlace(authority.id)),
  };
}

/** A server that is closed at the end of the test. */
export interface TestServer {
  readonly address: string;
  /** Emits `connection`, `data` and `request`. */
  readonly events: EventEmitter;
  /** Returns the number of open connections. */
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
    events: met,
    open: () => new Promise((resolve, reject) => server.getConnections((e, count) => (e ? reject(e) : resolve(count)))),
  };
}

/** Starts a plain TCP server. `answer` handles the first bytes of a connection. */
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

/** Starts a TLS server that offers these protocols and answers nothing. */
export function startTls(t: TestContext, { cert, key }: TestCluster, protocols: string[]): Promise<TestServer> {
  const server = tls.createServer({ cert, key, ALPNProtocols: protocols });
  server.on('tlsClientError', () => undefined);
  server.on('secureConnection', (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  });
  return listen(t, server);
}

/** Starts an HTTP/2 server over TLS without gRPC. */
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

/** Starts a peering service, or without `exchange` a gRPC server with another service. */
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

export const environment: CheckEnvironment = {
  clock: systemClock,
  resolve: systemResolve,
  denied: createDeniedNetworks([]),
  version: '1.14.0',
  randomId: () => UNUSED_SECRET,
};

/** Returns the peer that a dialer of this cluster expects. */
export const peerOf = ({ serverName, roots }: TestCluster): Peer => ({ id: PEER_ID, serverName, roots });

/** Checks one address. The default signal never aborts. */
export const checkOne = (
  address: string,
  peer: Peer,
  signal: AbortSignal = new AbortController().signal,
  changed: Partial<CheckEnvironment> = {},
): Promise<Check[]> => checkAddress({ ...environment, ...changed }, address, peer, signal);

/** Summarizes the checks that were made: `dns passed`, `tcp failed tcp-refused`. */
export const summary = (checks: readonly Check[]): string[] =>
  checks
    .filter(({ Status }) => Status !== 'skipped')
    .map(({ ID, Status, Code }) => (Code === undefined ? `${ID} ${Status}` : `${ID} ${Status} ${Code}`));

/** Returns a signal that aborts on the event. */
export function abortOn(emitter: EventEmitter, event: string): AbortSignal {
  const controller = new AbortController();
  emitter.once(event, () => controller.abort());
  return controller.signal;
}
