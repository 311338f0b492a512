/** The listener below the router: Node's HTTP server with our bounds on how slow, large or many its clients may be. */
import http from 'node:http';
import https from 'node:https';
import {
  CONNECTION_CHECK_MS,
  HEADER_BYTES_MAX,
  HEADERS_MS_MAX,
  KEEP_ALIVE_MS,
  REQUEST_MS_MAX,
  TCP_KEEP_ALIVE_MS,
  TLS_HANDSHAKE_MS_MAX,
  UNREAD_MS_MAX,
} from '../limits.ts';

/** A certificate chain and its private key, PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** How long clients may take; tests shorten them. */
export interface Patience {
  readonly headersMs: number;
  readonly requestMs: number;
  readonly checkMs: number;
  /** How long a large answer may make no progress. */
  readonly unreadMs: number;
}

export const PATIENCE: Patience = {
  headersMs: HEADERS_MS_MAX,
  requestMs: REQUEST_MS_MAX,
  checkMs: CONNECTION_CHECK_MS,
  unreadMs: UNREAD_MS_MAX,
};

export interface NodeServerOptions {
  /** HTTPS with it, HTTP without. */
  readonly certificate: Certificate | undefined;
  /** Open connections; more are closed as they come. */
  readonly connectionsMax: number;
  readonly patience: Patience;
}

/** Makes the server; it does not listen yet. */
export function createNodeServer(
  options: NodeServerOptions,
  onRequest: http.RequestListener,
): http.Server | https.Server {
  const bounds: http.ServerOptions = {
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: options.patience.headersMs,
    requestTimeout: options.patience.requestMs,
    connectionsCheckingInterval: options.patience.checkMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    noDelay: true,
    // Checked where there is a request id to answer with.
    requireHostHeader: false,
    // Most requests have no body: without this each would carry a stream that waits for one.
    optimizeEmptyRequests: true,
  };
  const server =
    options.certificate === undefined
      ? http.createServer(bounds, onRequest)
      : https.createServer({ ...bounds, ...tlsOptions(options.certificate) }, onRequest);
  server.maxConnections = options.connectionsMax;
  return server;
}

/** Serves the certificate to connections from now on. Does nothing for HTTP. @throws Error when the two do not fit */
export function replaceCertificate(server: http.Server | https.Server, certificate: Certificate): void {
  if (server instanceof https.Server) server.setSecureContext(tlsOptions(certificate));
}

const tlsOptions = ({ cert, key }: Certificate): https.ServerOptions => ({
  cert,
  key,
  minVersion: 'TLSv1.2',
  ALPNProtocols: ['http/1.1'],
  handshakeTimeout: TLS_HANDSHAKE_MS_MAX,
});
