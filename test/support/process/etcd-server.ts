import type { Server, ServerOptions } from './server.ts';
import { startServer } from './server.ts';

/** What differs from one server on an etcd cluster to another. */
export interface EtcdServerOptions extends ServerOptions {
  readonly endpoints: readonly string[];
  /** `node.name` */
  readonly name?: string;
}

/** Starts a server on etcd. The lease is the shortest there is, so that dead nodes go soon. */
export function startEtcdServer({ endpoints, name = 'a', settings, ...options }: EtcdServerOptions): Promise<Server> {
  const own = { store: 'etcd', 'etcd.endpoints': endpoints.join(','), 'node.name': name, 'node.lease': '2s' };
  return startServer({ ...options, settings: { ...own, ...settings } });
}
