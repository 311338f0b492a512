/**
 * The server: builds the parts, starts them, stops them. The only place where all meet.
 *
 * It listens first (so that `/healthz` answers while a large state is loaded), loads, makes the first credentials if
 * the state is empty, and only then lets requests in.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { auditLog, recordChange, SYSTEM } from './audit/record.ts';
import { auditRetentionJob } from './audit/retention.ts';
import type { Config, LoadedConfig, ReloadedConfig } from './config.ts';
import { aclTokens } from './credentials/acl-token.ts';
import { recordTokenChange } from './credentials/change-token.ts';
import { cluster } from './credentials/cluster.ts';
import { credentialsPath } from './credentials/credentials-file.ts';
import { credentialsEndpoints } from './credentials/endpoints.ts';
import {
  type FirstStart,
  FirstStartError,
  makeFirstCredentials,
  recoverCredentials,
} from './credentials/first-credentials.ts';
import { partitions } from './credentials/partition.ts';
import { users, userTokens } from './credentials/user.ts';
import { createLog, type Log } from './http/log.ts';
import type { Certificate } from './http/node-server.ts';
import { createHttpServer, type HttpServer } from './http/server.ts';
import { createReads } from './http/v1/reads.ts';
import { type Clock, systemClock } from './state/clock.ts';
import type { Engine } from './state/engine.ts';
import { isStateError } from './state/errors.ts';
import { etcdEngine } from './state/etcd/engine.ts';
import { expiryJob } from './state/expiry.ts';
import { ImportError, importFile } from './state/import.ts';
import type { Job } from './state/jobs.ts';
import { dataKeySealer, passphraseSealer, type Sealer, type SealRecipe } from './state/sealing.ts';
import { sqliteEngine } from './state/sqlite/engine.ts';
import { State } from './state/state.ts';
import { defineSchema } from './state/table.ts';

export interface ServeOptions {
  readonly loaded: LoadedConfig;
  /** Reads the sources of the settings again; what cannot change in a running server stays as it is. */
  readonly reload: (current: LoadedConfig) => Promise<ReloadedConfig>;
  readonly importFile: string | undefined;
  readonly importPassphrase: string | undefined;
  readonly recover: boolean;
  readonly version: string;
}

/** Every table of the state. */
const SCHEMA = defineSchema([cluster, partitions, aclTokens, users, userTokens, auditLog]);

/** Exit codes beside 0: what the settings or the command line must mend, and everything else. */
const EXIT_USAGE = 2;
const EXIT_FAILED = 1;

/** Runs a server until it is told to stop. @returns its exit code @throws ConfigError */
export async function serve(options: ServeOptions): Promise<number> {
  const { config, warnings } = options.loaded;
  const log = createLog({ level: config.log.level, format: config.log.format });
  for (const warning of warnings) log.warn(warning);
  const stop = stopSignal();
  try {
    return await run(options, log, stop);
  } catch (error) {
    if (stop.aborted && isStateError(error, 'aborted')) return 0;
    if (!isExpected(error)) throw error;
    log.error(error.message);
    return isStateError(error, 'name-taken') || error instanceof FirstStartError ? EXIT_USAGE : EXIT_FAILED;
  }
}

async function run(options: ServeOptions, log: Log, stop: AbortSignal): Promise<number> {
  const { config } = options.loaded;
  const clock = systemClock;
  await using parts = new AsyncDisposableStack();
  const dataKey = config.dataKey === undefined ? undefined : dataKeySealer(Buffer.from(config.dataKey.read()));
  const state = parts.use(
    State.create({
      engine: await createEngine(config, clock, log),
      schema: SCHEMA,
      node: config.node.name,
      clock,
      rowsMax: config.state.rowsMax,
      log: (level, message, fields = {}) => log[level](fields, message),
    }),
  );
  const certificates = certificateFiles(config);
  const server = createHttpServer({
    host: config.http.address.host,
    port: config.http.address.port,
    ...(certificates === undefined ? {} : { certificate: await readCertificate(certificates) }),
    allowedOrigins: config.http.allowedOrigins,
    limits: config.limits,
    requestIdPrefix: randomBytes(4).toString('hex'),
    clock,
    log,
  });
  const { address, port } = await server.listen();
  parts.defer(() => server.stop(config.shutdown.grace));
  const url = `${certificates === undefined ? 'http' : 'https'}://${urlHost(address)}:${port}`;
  const stopped = new Promise<'stop'>((resolve) =>
    stop.addEventListener('abort', () => resolve('stop'), { once: true }),
  );

  const started = state.start((engine) => importInto(engine, options, dataKey, log, stop));
  if ((await Promise.race([started, stopped, state.fatal])) === 'stop') return 0;
  await makeCredentials(
    {
      state,
      clock,
      directory: config.dataDir,
      address: url,
      datacenter: config.cluster.datacenter,
      presetSecrets: () => ({
        aclToken: config.bootstrap.aclToken?.read(),
        adminToken: config.bootstrap.adminToken?.read(),
      }),
    },
    options.recover,
    log,
  );
  for (const job of backgroundJobs(state, clock, config)) state.addJob(job);
  addEndpoints(server, state, clock, config, dataKey, options.version);
  await server.open();
  log.info({ address: url, version: options.version, node: config.node.name, store: config.store }, 'ready');

  const reason = await Promise.race([stopped, state.fatal]);
  if (reason === 'stop') {
    log.info('stopping');
    await server.stop(config.shutdown.grace);
    return 0;
  }
  log.error({ error: reason }, `the server stops: ${reason.message}`);
  return EXIT_FAILED;
}

function addEndpoints(
  server: HttpServer,
  state: State,
  clock: Clock,
  config: Config,
  dataKey: Sealer | undefined,
  version: string,
): void {
  const consul = config.compat.includes('consul');
  const reads = createReads({
    state,
    clock,
    random: Math.random,
    defaultPolicy: config.acl.defaultPolicy,
    consul,
    staleMaxAgeMs: config.stale.maxAge,
    waitingMax: config.limits.waiting,
    waitingPerTokenMax: config.limits.waitingPerToken,
  });
  server.onStop(() => reads.drain());
  const policy = { enabled: config.acl.enabled, defaultPolicy: config.acl.defaultPolicy };
  const credentials = { state, policy, edition: config.cluster.edition };
  const endpoints = credentialsEndpoints({ credentials, reads, clock, consul, dataKey, partitionUses: [] });
  for (const endpoint of endpoints) server.add(endpoint);
  void version;
}

/** The files of `http.tls-cert` and `http.tls-key`; undefined: plain HTTP. */
function certificateFiles({ http }: Config): { readonly cert: string; readonly key: string } | undefined {
  return http.tlsCert === undefined || http.tlsKey === undefined ? undefined : { cert: http.tlsCert, key: http.tlsKey };
}

async function readCertificate(files: { readonly cert: string; readonly key: string }): Promise<Certificate> {
  const [cert, key] = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')]);
  return { cert, key };
}

/** The engine that the settings name. @throws Error of the system when a file of theirs cannot be read */
async function createEngine(config: Config, clock: Clock, log: Log): Promise<Engine> {
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

/** `--import-file`: fills the empty store before anything else is in it. */
async function importInto(
  engine: Engine,
  { importFile: file, importPassphrase }: ServeOptions,
  dataKey: Sealer | undefined,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  if (file === undefined) return;
  const sealerFor = async (recipe: SealRecipe): Promise<Sealer> => {
    if (recipe.key === 'data-key') {
      if (dataKey !== undefined) return dataKey;
      throw new ImportError(
        `'${file}' is encrypted with a data key: set data-key-file to the one of the exporting server`,
      );
    }
    if (importPassphrase !== undefined) return await passphraseSealer(importPassphrase, recipe.salt);
    throw new ImportError(
      `'${file}' is encrypted with a passphrase: name a file that holds it with --import-passphrase-file`,
    );
  };
  const { header, rows } = await importFile(engine, file, sealerFor, signal);
  log.info({ rows, exported: header.time, index: header.index }, 'imported');
  for (const [table, count] of Object.entries(header.leftOut)) {
    log.warn({ table, count }, 'rows with secrets were left out of the export: make them again');
  }
}

/** First credentials for an empty state; with `--recover`, or after an import without credentials, new ones. */
async function makeCredentials(start: FirstStart, recover: boolean, log: Log): Promise<void> {
  const { state, directory } = start;
  const file = credentialsPath(directory);
  if (await makeFirstCredentials(start)) {
    log.info({ file }, 'made the first credentials');
    announce(start.address, file);
    return;
  }
  const locked = state.snapshot.all(aclTokens, { limit: 1 }).length === 0;
  if (!recover && !locked) return;
  const aside = await recoverCredentials(start);
  log.warn({ file, ...(aside === undefined ? {} : { aside }) }, 'made new credentials beside the old ones');
}

/** What a first user sees: where it is, and two requests to try. Never a secret. */
function announce(address: string, file: string): void {
  const secret = (path: string): string => `$(node -p 'JSON.parse(require("fs").readFileSync("${file}")).${path}')`;
  process.stdout.write(
    `Accord is at ${address}\nIts first credentials are in ${file}\nTry:\n` +
      `  curl -H "X-Service-Token: ${secret('peering.secretId')}" ${address}/v1/acl/token/self\n` +
      `  curl -H "X-Service-Token: ${secret('peering.secretId')}" ${address}/v1/partitions\n`,
  );
}

function backgroundJobs(state: State, clock: Clock, config: Config): Job[] {
  return [
    expiryJob(state, aclTokens, clock, (tx, stored) => recordTokenChange(tx, SYSTEM, 'expire', stored, undefined)),
    expiryJob(state, userTokens, clock, (tx, { row }) =>
      recordChange(tx, SYSTEM, {
        action: 'expire',
        type: 'user-token',
        subject: row.id,
        partition: 'default',
        before: { id: row.id, user: row.userId },
        after: null,
      }),
    ),
    auditRetentionJob(state, clock, config.audit.retention),
  ];
}

/** Aborts at SIGTERM or SIGINT. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => controller.abort());
  return controller.signal;
}

/** Whether an error tells an operator all there is to tell, so that its stack would only hide it. */
function isExpected(error: unknown): error is Error {
  if (error instanceof ImportError || error instanceof FirstStartError || isStateError(error)) return true;
  return error instanceof Error && 'syscall' in error;
}

/** A host as it stands in a URL. */
const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host);
