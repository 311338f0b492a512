import { type Server, type ServerOptions, startServer } from './server.ts';

export interface EtcdServerOptions extends ServerOptions {
  readonly endpoints: readonly string[];
  /** `node.name` */
  readonly name?: string;
}

/** Starts a server on etcd with the shortest possible lease, so that the leased keys of a killed server expire soon. */
export function startEtcdServer({ endpoints, name = 'a', settings, ...options }: EtcdServerOptions): Promise<Server> {
  const own = { store: 'etcd', 'etcd.endpoints': endpoints.join(','), 'node.name': name, 'node.lease': '2s' };
  return startServer({ ...options, settings: { ...own, ...settings } });
}
