/** Which engine the settings name, with their files read. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Config } from '../config.ts';
import type { Log } from '../http/log.ts';
import type { Clock } from '../state/clock.ts';
import type { Engine } from '../state/engine.ts';
import { etcdEngine } from '../state/etcd/engine.ts';
import { sqliteEngine } from '../state/sqlite/engine.ts';

/** The engine that the settings name. @throws Error of the system when a file of theirs cannot be read */
export async function createEngine(config: Config, clock: Clock, log: Log): Promise<Engine> {
  if (config.store === 'sqlite') return sqliteEngine({ directory: config.dataDir });
  const { endpoints, prefix, ca, cert, key, username, password, maxTxnOps, maxTxnBytes, compact } = config.etcd;
  const [caText, certText, keyText] = await Promise.all([ca, cert, key].map(readOptional));
  return etcdEngine({
    endpoints,
    prefix,
    tls: { ca: caText, cert: certText, key: keyText },
    credentials: username === undefined ? undefined : { username, password: password?.read() ?? '' },
    maxTxnOps,
    maxTxnBytes,
    compactMs: compact,
    leaseMs: config.node.lease,
    clock,
    id: randomUUID,
    log: (level, message, fields = {}) => log[level](fields, message),
  });
}

const readOptional = async (file: string | undefined): Promise<string | undefined> =>
  file === undefined ? undefined : await readFile(file, 'utf8');
