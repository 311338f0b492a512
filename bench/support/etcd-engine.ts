/** The etcd engine with the default settings of a server, but without compaction. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../src/state/clock/clock.ts';
import type { Engine } from '../../src/state/engine/engine.ts';
import { etcdEngine } from '../../src/state/engine/etcd/engine.ts';

export function benchEtcdEngine(endpoint: string): Engine {
  return etcdEngine({
    endpoints: [endpoint],
    prefix: 'accord/',
    maxTxnOps: 128,
    maxTxnBytes: 1024 * 1024,
    quotaBytes: 2 ** 31,
    compactMs: 'off',
    leaseMs: 10_000,
    clock: systemClock,
    id: randomUUID,
    log: () => undefined,
  });
}
