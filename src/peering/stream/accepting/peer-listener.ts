/**
 * The listener for peer streams: TLS with the cluster's certificate, HTTP/2, gRPC. Whoever can reach it may connect, so
 * everything that somebody can take before they have shown a secret is bounded: connections, streams, bytes, time.
 */
import { once } from 'node:events';
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { constants, createSecureServer } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import {
  type ConnectRouter,
  type ContextValues,
  createConnectRouter,
  createContextKey,
  createContextValues,
} from '@connectrpc/connect';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import type { Log } from '../../../http/telemetry/log.ts';
import type { Clock } from '../../../state/clock/clock.ts';
import { MESSAGE_BYTES_MAX, STREAMS_OF_CONNECTION_MAX } from '../../limits.ts';
import type { ServerIdentity } from '../../trust/identity.ts';
import { CLOSING_MS } from '../limits.ts';
import { BINARY_OPTIONS } from '../wire/messages.ts';
import { boundedUntil } from './bounded-body.ts';
import { createUnprovenConnections, type Endpoint } from './unauthenticated-connections.ts';

/** The HTTP/2 stream of a call, for its handler. */
export interface PeerCall {
  /** The address of the caller. */
  readonly address: string;
  /** Who called has shown a secret: the bounds for strangers end. */
  prove(): void;
  /** Tears the stream down, whatever still waits to be written. */
  reset(): void;
}

const CALL = createContextKey<PeerCall | undefined>(undefined);

/** The call behind a handler's context. */
export function peerCall(values: ContextValues): PeerCall {
  const call = values.get(CALL);
  if (call === undefined) throw new TypeError('a handler of the peer listener is called by the peer listener alone');
  return call;
}

export interface PeerListenerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly identity: ServerIdentity;
  /** How long a connection may stay without a stream that has shown a secret. */
  readonly handshakeMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

export interface PeerListener extends AsyncDisposable {
  readonly address: AddressInfo;
  /** Connections that have shown no secret yet. */
  readonly unprovenCount: number;
  /** Connections that were closed because there were too many of those. */
  readonly refusedCount: number;
  /** Serves calls from now on; those that came before were told to come back. */
  serve(routes: (router: ConnectRouter) => void): void;
  /** Takes no more connections. */
  close(): void;
}

interface Connection {
  readonly endpoint: Endpoint;
  /** Streams on it that have shown a secret. */
  proven: number;
  cancel: () => void;
}

/** Listens. @throws Error of the system, such as EADDRINUSE */
export async function listenForPeers(options: PeerListenerOptions): Promise<PeerListener> {
  const { identity, clock, log, handshakeMs } = options;
  const unproven = createUnprovenConnections();
  const sessions = new Map<ServerHttp2Session, Connection>();
  let handlers: ReadonlyMap<string, Handler> | undefined;

  const server = createSecureServer({
    ...identity.current(),
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['h2'],
    handshakeTimeout: handshakeMs,
    // For who asks for no protocol, and is told which one it is.
    unknownProtocolTimeout: handshakeMs,
    settings: { maxConcurrentStreams: STREAMS_OF_CONNECTION_MAX },
  });

  server.on('connection', (socket: Socket) => unproven.add(socket));
  // Of handshakes that failed and of connections that broke: nobody is there to be told.
  server.on('tlsClientError', (error) => log.debug({ error }, 'a TLS handshake of a peer failed'));
  server.on('sessionError', (error) => log.debug({ error }, 'a connection of a peer failed'));

  const expectProof = (session: ServerHttp2Session, connection: Connection): void => {
    connection.cancel();
    connection.cancel = clock.after(handshakeMs, () => session.destroy());
  };
  server.on('session', (session) => {
    const { remoteAddress, remotePort } = session.socket;
    const connection: Connection = { endpoint: { remoteAddress, remotePort }, proven: 0, cancel: () => undefined };
    sessions.set(session, connection);
    expectProof(session, connection);
    session.once('close', () => {
      connection.cancel();
      sessions.delete(session);
    });
  });

  const prove = (stream: ServerHttp2Stream): void => {
    // On the server's side every session is one of the server's.
    const session = stream.session as ServerHttp2Session | undefined;
    const connection = session && sessions.get(session);
    if (session === undefined || connection === undefined) return;
    connection.cancel();
    connection.proven += 1;
    unproven.prove(connection.endpoint);
    stream.once('close', () => {
      connection.proven -= 1;
      if (connection.proven === 0 && sessions.has(session)) expectProof(session, connection);
    });
  };

  const answer = async (request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> => {
    const handler = handlers?.get(request.url);
    const status = handler === undefined ? (handlers === undefined ? 503 : 404) : refusal(request);
    if (handler === undefined || status !== undefined) {
      response.writeHead(status ?? 404).end();
      return;
    }
    let isProven = false;
    const call: PeerCall = {
      address: request.socket.remoteAddress ?? '',
      prove() {
        isProven = true;
        prove(request.stream);
      },
      reset: () => request.stream.close(constants.NGHTTP2_CANCEL),
    };
    const values = createContextValues().set(CALL, call);
    const universal = universalRequestFromNodeRequest(request, response, undefined, values);
    const body = universal.body as AsyncIterable<Uint8Array>;
    const answered = await handler({ ...universal, body: boundedUntil(body, () => isProven) });
    await universalResponseToNodeResponse(answered, response);
  };
  server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    const { stream } = request;
    // Who has its answer and does not leave holds a stream, with whatever it had still to say.
    stream.once('finish', () => {
      if (!stream.destroyed)
        stream.once(
          'close',
          clock.after(CLOSING_MS, () => stream.close(constants.NGHTTP2_CANCEL)),
        );
    });
    // Whatever a stranger can make fail ends its own call, and nothing else.
    answer(request, response).catch((error: unknown) => {
      log.debug({ error }, 'a call of a peer was cut');
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    });
  });

  const forget = identity.onChange(() => server.setSecureContext({ ...identity.current(), minVersion: 'TLSv1.2' }));
  server.listen({ host: options.host, port: options.port });
  await once(server, 'listening');
  server.on('error', (error) => log.warn({ error }, 'a connection of a peer could not be accepted'));

  return {
    address: server.address() as AddressInfo,
    get unprovenCount() {
      return unproven.size;
    },
    get refusedCount() {
      return unproven.displacedCount;
    },
    serve(routes) {
      handlers = handlersByPath(routes);
    },
    close: () => server.close(),
    async [Symbol.asyncDispose]() {
      forget();
      const closed = once(server, 'close');
      server.close();
      for (const session of sessions.keys()) session.destroy();
      unproven.destroy();
      await closed;
    },
  };
}

type Handler = ConnectRouter['handlers'][number];

function handlersByPath(routes: (router: ConnectRouter) => void): ReadonlyMap<string, Handler> {
  const router = createConnectRouter({
    connect: false,
    grpcWeb: false,
    acceptCompression: [],
    readMaxBytes: MESSAGE_BYTES_MAX,
    writeMaxBytes: MESSAGE_BYTES_MAX,
    binaryOptions: BINARY_OPTIONS,
  });
  routes(router);
  return new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
}

/** Of gRPC with protobuf: JSON, which a client may ask for as well, is more to go wrong, and no peer speaks it. */
const CONTENT_TYPES: ReadonlySet<string | undefined> = new Set(['application/grpc', 'application/grpc+proto']);

/** The HTTP status for a request that is no call, or that names no host, without which it has no URL. */
function refusal({ headers, authority }: Http2ServerRequest): number | undefined {
  if (!CONTENT_TYPES.has(headers['content-type'])) return 415;
  return URL.canParse(`https://${authority ?? ''}`) ? undefined : 400;
}
