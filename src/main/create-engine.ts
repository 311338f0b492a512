/** Which engine the settings name, with their files read. */
import { randomUUID, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { ConfigError } from '../config/error.ts';
import type { Config } from '../config.ts';
import type { Log } from '../http/telemetry/log.ts';
import type { Clock } from '../state/clock/clock.ts';
import type { Engine } from '../state/engine/engine.ts';
import { sqliteEngine } from '../state/engine/sqlite/engine.ts';

/** The engine that the settings name; nothing is opened yet. @throws ConfigError when a file of theirs cannot be used */
export async function createEngine(config: Config, clock: Clock, log: Log): Promise<Engine> {
  if (config.store === 'sqlite') return sqliteEngine({ directory: config.dataDir });
  // Loaded where it is used: with the client that it needs it is a tenth of an idle server's memory.
  const { etcdEngine } = await import('../state/engine/etcd/engine.ts');
  const { endpoints, prefix, username, password, maxTxnOps, maxTxnBytes, compact } = config.etcd;
  return etcdEngine({
    endpoints,
    prefix,
    tls: await readTls(config.etcd),
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

interface Tls {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** Tries what it reads: with a bad file every call would fail, and look as if etcd were away. */
async function readTls(files: Config['etcd']): Promise<Tls> {
  const read = async (key: keyof Tls): Promise<string | undefined> => {
    const file = files[key];
    return file === undefined ? undefined : await readFile(file, 'utf8');
  };
  try {
    const [ca, cert, key] = await Promise.all([read('ca'), read('cert'), read('key')]);
    createSecureContext({ cert, key });
    // A context takes anything for the certificates of others, and then trusts nobody.
    if (ca !== undefined) new X509Certificate(ca);
    return { ca, cert, key };
  } catch (cause) {
    const named = (['ca', 'cert', 'key'] as const).filter((key) => files[key] !== undefined);
    const shown = named.map((key) => `etcd.${key} ${files[key]}`).join(', ');
    throw new ConfigError(`${shown}: want PEM files that fit together (${(cause as Error).message})`, { cause });
  }
}
