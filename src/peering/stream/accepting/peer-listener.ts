/**
 * The listener for peer streams: gRPC over HTTP/2 over TLS with the cluster's certificate ([STREAM-5] to [STREAM-9]).
 * It accepts any client, so it limits connections, streams, bytes and time of clients without an authorized stream.
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
import { MESSAGE_BYTES_MAX, STREAMS_PER_CONNECTION_MAX } from '../../limits.ts';
import type { ServerIdentity } from '../../trust/identity.ts';
import { CLOSING_MS } from '../limits.ts';
import { BINARY_OPTIONS } from '../wire/messages.ts';
import { limitUnauthenticatedBytes } from './bounded-body.ts';
import { createUnauthenticatedConnections, type RemoteEndpoint } from './unauthenticated-connections.ts';

export interface PeerCall {
  readonly address: string;
  /** Lifts the limits on unauthenticated callers, after the caller has presented a valid secret. */
  markAuthenticated(): void;
  /** Resets the stream and discards unwritten data. */
  reset(): void;
}

const CALL = createContextKey<PeerCall | undefined>(undefined);

export function peerCall(values: ContextValues): PeerCall {
  const call = values.get(CALL);
  if (call === undefined) throw new TypeError('the handler was not called by the peer listener');
  return call;
}

export interface PeerListenerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly identity: ServerIdentity;
  /** How long a connection may stay open without an authorized stream ([STREAM-34]). */
  readonly handshakeMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

export interface PeerListener extends AsyncDisposable {
  readonly address: AddressInfo;
  readonly unauthenticatedCount: number;
  /** Number of unauthenticated connections closed because their maximum number was reached ([STREAM-33]). */
  readonly displacedCount: number;
  /** Starts to serve calls. Calls before that get status 503. */
  serve(routes: (router: ConnectRouter) => void): void;
  close(): void;
}

interface Connection {
  readonly endpoint: RemoteEndpoint;
  authenticatedStreams: number;
  cancel: () => void;
}

/** Opens the listener. @throws Error of the system, such as `EADDRINUSE` */
export async function listenForPeers(options: PeerListenerOptions): Promise<PeerListener> {
  const { identity, clock, log, handshakeMs } = options;
  const unauthenticated = createUnauthenticatedConnections();
  const sessions = new Map<ServerHttp2Session, Connection>();
  let handlers: ReadonlyMap<string, Handler> | undefined;

  const server = createSecureServer({
    ...identity.current(),
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['h2'],
    handshakeTimeout: handshakeMs,
    // Applies to clients without ALPN, which get a 403 response.
    unknownProtocolTimeout: handshakeMs,
    settings: { maxConcurrentStreams: STREAMS_PER_CONNECTION_MAX },
  });

  server.on('connection', (socket: Socket) => unauthenticated.add(socket));
  server.on('tlsClientError', (error) => log.debug({ error }, 'peer TLS handshake failed'));
  server.on('sessionError', (error) => log.debug({ error }, 'peer connection failed'));

  const startHandshakeTimer = (session: ServerHttp2Session, connection: Connection): void => {
    connection.cancel();
    connection.cancel = clock.after(handshakeMs, () => session.destroy());
  };
  server.on('session', (session) => {
    const { remoteAddress, remotePort } = session.socket;
    const connection: Connection = {
      endpoint: { remoteAddress, remotePort },
      authenticatedStreams: 0,
      cancel: () => undefined,
    };
    sessions.set(session, connection);
    startHandshakeTimer(session, connection);
    session.once('close', () => {
      connection.cancel();
      sessions.delete(session);
    });
  });

  const countAuthenticated = (stream: ServerHttp2Stream): void => {
    // The type is narrower on the server side.
    const session = stream.session as ServerHttp2Session | undefined;
    const connection = session && sessions.get(session);
    if (session === undefined || connection === undefined) return;
    connection.cancel();
    connection.authenticatedStreams += 1;
    unauthenticated.markAuthenticated(connection.endpoint);
    stream.once('close', () => {
      connection.authenticatedStreams -= 1;
      if (connection.authenticatedStreams === 0 && sessions.has(session)) startHandshakeTimer(session, connection);
    });
  };

  const handleRequest = async (request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> => {
    const handler = handlers?.get(request.url);
    const status = handler === undefined ? (handlers === undefined ? 503 : 404) : requestProblem(request);
    if (handler === undefined || status !== undefined) {
      response.writeHead(status ?? 404).end();
      return;
    }
    let isAuthorized = false;
    const call: PeerCall = {
      address: request.socket.remoteAddress ?? '',
      markAuthenticated() {
        isAuthorized = true;
        countAuthenticated(request.stream);
      },
      reset: () => request.stream.close(constants.NGHTTP2_CANCEL),
    };
    const values = createContextValues().set(CALL, call);
    const universal = universalRequestFromNodeRequest(request, response, undefined, values);
    const body = universal.body as AsyncIterable<Uint8Array>;
    const answered = await handler({ ...universal, body: limitUnauthenticatedBytes(body, () => isAuthorized) });
    await universalResponseToNodeResponse(answered, response);
  };
  server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
    const { stream } = request;
    // Resets the stream of a client that has its response but does not close its half.
    stream.once('finish', () => {
      if (!stream.destroyed)
        stream.once(
          'close',
          clock.after(CLOSING_MS, () => stream.close(constants.NGHTTP2_CANCEL)),
        );
    });
    // A client can cause errors here. They must end its call only.
    handleRequest(request, response).catch((error: unknown) => {
      log.debug({ error }, 'peer call failed');
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    });
  });

  const removeListener = identity.onChange(() =>
    server.setSecureContext({ ...identity.current(), minVersion: 'TLSv1.2' }),
  );
  server.listen({ host: options.host, port: options.port });
  await once(server, 'listening');
  server.on('error', (error) => log.warn({ error }, 'peer connection not accepted'));

  return {
    address: server.address() as AddressInfo,
    get unauthenticatedCount() {
      return unauthenticated.size;
    },
    get displacedCount() {
      return unauthenticated.displacedCount;
    },
    serve(routes) {
      handlers = handlersByPath(routes);
    },
    close: () => server.close(),
    async [Symbol.asyncDispose]() {
      removeListener();
      const closed = once(server, 'close');
      server.close();
      for (const session of sessions.keys()) session.destroy();
      unauthenticated.destroy();
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

/** The content types of gRPC with protobuf. No peer uses gRPC with JSON, so it is not offered. */
const CONTENT_TYPES: ReadonlySet<string | undefined> = new Set(['application/grpc', 'application/grpc+proto']);

/** Returns the HTTP status for a request with another content type, or with an authority that makes no URL. */
function requestProblem({ headers, authority }: Http2ServerRequest): number | undefined {
  if (!CONTENT_TYPES.has(headers['content-type'])) return 415;
  return URL.canParse(`https://${authority ?? ''}`) ? undefined : 400;
}
