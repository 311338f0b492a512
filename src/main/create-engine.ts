/** Chooses the engine of the store by the settings. */
import { randomUUID, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { ConfigError } from '../config/error.ts';
import type { Config } from '../config.ts';
import { watchFiles } from '../http/server/certificates.ts';
import type { Log } from '../http/telemetry/log.ts';
import type { Clock } from '../state/clock/clock.ts';
import type { Engine } from '../state/engine/engine.ts';
import { sqliteEngine } from '../state/engine/sqlite/engine.ts';
import { systemCertificates } from '../tls/system-certificates.ts';

export interface CreatedEngine {
  readonly engine: Engine;
  /** Reads the certificates for the store again, and uses them for new connections [ETCD-85]. */
  readonly reloadCertificates: () => Promise<void>;
}

/**
 * Creates the engine without opening the store. Reads the certificates for etcd again when they change.
 * @throws ConfigError when a file that a setting names is unusable
 */
export async function createEngine(
  config: Config,
  clock: Clock,
  log: Log,
  signal: AbortSignal,
): Promise<CreatedEngine> {
  if (config.store === 'sqlite') {
    return { engine: sqliteEngine({ directory: config.dataDir }), reloadCertificates: async () => undefined };
  }
  // Loaded on demand, because the engine and its client take a tenth of an idle server's memory.
  const { etcdEngine } = await import('../state/engine/etcd/engine.ts');
  const { endpoints, prefix, username, password, maxTxnOps, maxTxnBytes, quota, compact } = config.etcd;
  const isSecure = endpoints.some((endpoint) => endpoint.startsWith('https:'));
  const trusted = isSecure && config.etcd.ca === undefined ? systemCertificates() : undefined;
  const read = async (): Promise<Tls> => ({ ...(await readTls(config.etcd)), ...(trusted && { ca: trusted }) });
  const current = await read();
  const tls = { ...current };
  const file = config.etcd.cert ?? config.etcd.ca;
  const reloadCertificates =
    file === undefined
      ? async () => undefined
      : watchFiles({
          file,
          read,
          isSame: (a, b) => a.ca === b.ca && a.cert === b.cert && a.key === b.key,
          current,
          replace: (found) => void Object.assign(tls, found),
          clock,
          log,
          signal,
        });
  const engine = etcdEngine({
    endpoints,
    prefix,
    tls,
    credentials: username === undefined ? undefined : { username, password: password?.read() ?? '' },
    maxTxnOps,
    maxTxnBytes,
    quotaBytes: quota,
    compactMs: compact,
    leaseMs: config.node.lease,
    clock,
    id: randomUUID,
    log: (level, message, fields = {}) => log[level](fields, message),
  });
  return { engine, reloadCertificates };
}

interface Tls {
  /** A list for the certificates of the system. */
  readonly ca: string | readonly string[] | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** Reads and checks the TLS files. With a bad file every call would fail as if etcd were unreachable. */
async function readTls(files: Config['etcd']): Promise<Tls & { readonly ca: string | undefined }> {
  const read = async (key: keyof Tls): Promise<string | undefined> => {
    const file = files[key];
    return file === undefined ? undefined : await readFile(file, 'utf8');
  };
  try {
    const [ca, cert, key] = await Promise.all([read('ca'), read('cert'), read('key')]);
    createSecureContext({ cert, key });
    // createSecureContext accepts any text as CA certificates and then trusts none.
    if (ca !== undefined) new X509Certificate(ca);
    return { ca, cert, key };
  } catch (cause) {
    const named = (['ca', 'cert', 'key'] as const).filter((key) => files[key] !== undefined);
    const shown = named.map((key) => `etcd.${key} ${files[key]}`).join(', ');
    throw new ConfigError(
      `${shown}: want valid PEM files, and the key of the certificate (${(cause as Error).message})`,
      { cause },
    );
  }
}
