/** Node's HTTP server with Accord's limits: timeouts, TLS, responses to invalid HTTP, graceful shutdown. [SRV-58] */
import http, { STATUS_CODES } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Clock } from '../../state/clock/clock.ts';
import { ServiceError } from '../errors.ts';
import {
  CONNECTION_CHECK_MS,
  HEADER_BYTES_MAX,
  KEEP_ALIVE_MS,
  REQUEST_HEAD_MS_MAX,
  REQUEST_MS_MAX,
  STOP_CHECK_MS,
  TCP_KEEP_ALIVE_MS,
  WRITE_STALL_MS_MAX,
} from '../limits.ts';

/** A certificate chain and its private key, both PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** The time limits of clients. Tests use shorter ones. */
export interface Timeouts {
  readonly headersMs: number;
  readonly requestMs: number;
  readonly checkMs: number;
  readonly writeStallMs: number;
}

export const DEFAULT_TIMEOUTS: Timeouts = {
  headersMs: REQUEST_HEAD_MS_MAX,
  requestMs: REQUEST_MS_MAX,
  checkMs: CONNECTION_CHECK_MS,
  writeStallMs: WRITE_STALL_MS_MAX,
};

export interface NodeServerOptions {
  readonly certificate: Certificate | undefined;
  readonly timeouts: Timeouts;
  /** Returns the ID for a response to invalid HTTP. */
  readonly newRequestId: () => string;
}

export function createNodeServer(
  options: NodeServerOptions,
  onRequest: http.RequestListener,
): http.Server | https.Server {
  const serverOptions: http.ServerOptions = {
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: options.timeouts.headersMs,
    requestTimeout: options.timeouts.requestMs,
    connectionsCheckingInterval: options.timeouts.checkMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    noDelay: true,
    // The router rejects requests without a `Host` header, because its responses have a request ID.
    requireHostHeader: false,
    // Most requests have no body. Without this option each would have a stream that waits for one.
    optimizeEmptyRequests: true,
  };
  const server =
    options.certificate === undefined
      ? http.createServer(serverOptions, onRequest)
      : https.createServer({ ...serverOptions, ...tlsOptions(options.certificate) }, onRequest);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: HttpSocket) =>
    answerClientError(error, socket, options.newRequestId()),
  );
  return server;
}

/** Uses the certificate for new connections. Does nothing for HTTP. @throws Error if the key does not match */
export function replaceCertificate(server: http.Server | https.Server, certificate: Certificate): void {
  if (server instanceof https.Server) server.setSecureContext(tlsOptions(certificate));
}

const tlsOptions = ({ cert, key }: Certificate): https.ServerOptions => ({
  cert,
  key,
  minVersion: 'TLSv1.2',
  ALPNProtocols: ['http/1.1'],
  handshakeTimeout: REQUEST_HEAD_MS_MAX,
});

/** A socket of Node's HTTP server. `_httpMessage` is the response in progress; Node's default handler reads it too. */
type HttpSocket = Socket & { readonly _httpMessage?: http.ServerResponse | null };

/**
 * Responds to invalid HTTP, for which Node creates no response object, and closes the connection. Sends nothing while a
 * response is in progress, because the client would take the error for a part of it.
 */
function answerClientError(error: NodeJS.ErrnoException, socket: HttpSocket, id: string): void {
  const isResponding = socket._httpMessage !== undefined && socket._httpMessage !== null;
  if (error.code === 'ECONNRESET' || !socket.writable || isResponding) {
    socket.destroy();
    return;
  }
  const { status, message } = toServiceError(error);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(message)}`,
    `X-Request-Id: ${id}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${message}`, () => socket.destroy());
}

function toServiceError({ code }: NodeJS.ErrnoException): ServiceError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ServiceError('headers-too-large', 'The request headers are too large');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ServiceError('too-large', 'The chunk extensions of the request body are too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ServiceError('request-timeout', 'The request did not arrive in time');
    default:
      return new ServiceError('bad-request', 'The request is not valid HTTP');
  }
}

/** Stops listening, closes connections as they become idle, and closes the remaining ones after `graceMs`. [SRV-80] */
export function stopNodeServer(server: http.Server, clock: Clock, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    let cancelCheck = (): void => undefined;
    const cancelEnd = clock.after(graceMs, () => server.closeAllConnections());
    // Repeated, because a connection with a response in progress becomes idle only later.
    const check = (): void => {
      server.closeIdleConnections();
      cancelCheck = clock.after(STOP_CHECK_MS, check);
    };
    server.close(() => {
      cancelCheck();
      cancelEnd();
      resolve();
    });
    check();
  });
}
