import type { SecureClientSessionOptions } from 'node:http2';
import type { Transport } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { CALL_TIMEOUT_MS, PING_INTERVAL_MS, STREAM_WINDOW_BYTES } from '../limits.ts';

/** TLS options as PEM text. They may change; the next connection uses the new ones [ETCD-85]. */
export interface Tls {
  /** The trusted CA certificates. Default: those that come with Node. */
  readonly ca?: string | readonly string[] | undefined;
  /** This server's client certificate and its key. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** A connection to one endpoint. */
export interface Link {
  readonly transport: Transport;
  /** Closes the connection and fails every call and stream on it. The next call opens a new connection. */
  drop(reason: Error): void;
}

/** Returns a link that makes gRPC calls on one HTTP/2 session. Pings check it while a stream is open [ETCD-6]. */
export function grpcLink(endpoint: string, tls: Tls | undefined): Link {
  const session = new Http2SessionManager(
    endpoint,
    { pingIntervalMs: PING_INTERVAL_MS, pingTimeoutMs: CALL_TIMEOUT_MS },
    connectionOptions(tls),
  );
  const transport = createGrpcTransport({ baseUrl: endpoint, sessionManager: session, acceptCompression: [] });
  return { transport, drop: (reason) => session.abort(reason) };
}

/** Returns options that read `tls` for each new connection. Without undefined ones, which Node rejects. */
function connectionOptions(tls: Tls = {}): SecureClientSessionOptions {
  const options: SecureClientSessionOptions = { settings: { initialWindowSize: STREAM_WINDOW_BYTES } };
  for (const name of ['ca', 'cert', 'key'] as const) {
    if (tls[name] !== undefined) Object.defineProperty(options, name, { enumerable: true, get: () => tls[name] });
  }
  return options;
}
