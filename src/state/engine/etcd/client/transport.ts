import type { Transport } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { PING_INTERVAL_MS, PING_TIMEOUT_MS, STREAM_WINDOW_BYTES } from '../limits.ts';

/** Certificates as PEM text: who may sign etcd's, and who we are. */
export interface Tls {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** A way to one endpoint. */
export interface Link {
  readonly transport: Transport;
  /** Ends the connection with every call and stream on it; the next call opens a new one. */
  drop(reason: Error): void;
}

/** gRPC over one HTTP/2 session to `endpoint`, opened when first used and watched by pings while a stream is open. */
export function grpcLink(endpoint: string, tls: Tls | undefined): Link {
  const session = new Http2SessionManager(
    endpoint,
    { pingIntervalMs: PING_INTERVAL_MS, pingTimeoutMs: PING_TIMEOUT_MS },
    { ...present(tls), settings: { initialWindowSize: STREAM_WINDOW_BYTES } },
  );
  const transport = createGrpcTransport({ baseUrl: endpoint, sessionManager: session, acceptCompression: [] });
  return { transport, drop: (reason) => session.abort(reason) };
}

/** Node reads an option that is present but undefined as a mistake. */
function present(tls: Tls | undefined): { ca?: string; cert?: string; key?: string } {
  return Object.fromEntries(Object.entries(tls ?? {}).filter(([, pem]) => pem !== undefined));
}
