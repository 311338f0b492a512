/**
 * The server: builds the parts, starts them, stops them. The only place where all meet.
 *
 * It listens first (so that `/healthz` answers while a large state is loaded), loads, makes the first credentials if
 * the state is empty, and only then lets requests in.
 */
import { randomBytes } from 'node:crypto';
import type { Config, LoadedConfig, ReloadedConfig } from './config.ts';
import { credentialsEndpoints } from './credentials/endpoints.ts';
import { FirstStartError } from './credentials/first-credentials.ts';
import { type CertificateFiles, followCertificate, readCertificate } from './http/certificates.ts';
import { createLog, type Log } from './http/log.ts';
import { createMetrics } from './http/metrics.ts';
import { operatorEndpoints } from './http/operators.ts';
import { createHttpServer, type HttpServer } from './http/server.ts';
import { createReads } from './http/v1/reads.ts';
import { backgroundJobs } from './main/background-jobs.ts';
import { createEngine } from './main/create-engine.ts';
import { makeCredentials } from './main/credentials.ts';
import { importInto } from './main/import-into.ts';
import { SCHEMA } from './main/schema.ts';
import { type Clock, systemClock } from './state/clock.ts';
import { isStateError } from './state/errors.ts';
import { ImportError } from './state/import.ts';
import { dataKeySealer, type Sealer } from './state/sealing.ts';
import { State } from './state/state.ts';

export interface ServeOptions {
  readonly loaded: LoadedConfig;
  /** Reads the sources of the settings again; what cannot change in a running server stays as it is. */
  readonly reload: (current: LoadedConfig) => Promise<ReloadedConfig>;
  readonly importFile: string | undefined;
  readonly importPassphrase: string | undefined;
  readonly recover: boolean;
  readonly version: string;
}

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
  const certificate = certificates === undefined ? undefined : await readCertificate(certificates);
  const server = createHttpServer({
    host: config.http.address.host,
    port: config.http.address.port,
    ...(certificate === undefined ? {} : { certificate }),
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
  // Who waits for it may have left by the time it fails.
  started.catch(() => undefined);
  const early = await Promise.race([started, stopped, state.fatal]);
  if (early === 'stop') return 0;
  if (early instanceof Error) throw early;
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
  const lookAtCertificate =
    certificates === undefined || certificate === undefined
      ? undefined
      : followCertificate({
          files: certificates,
          current: certificate,
          replace: (next) => server.replaceCertificate(next),
          clock,
          log,
          signal: stop,
        });
  parts.defer(onReload(options, log, lookAtCertificate));
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
  const operators = operatorEndpoints({ state, staleMaxAgeMs: config.stale.maxAge, version: { Version: version } });
  for (const endpoint of [...endpoints, ...operators]) server.add(endpoint);
  server.add(createMetrics({ server, state, reads }).endpoint);
}

/** The files of `http.tls-cert` and `http.tls-key`; undefined: plain HTTP. */
function certificateFiles({ http }: Config): CertificateFiles | undefined {
  return http.tlsCert === undefined || http.tlsKey === undefined ? undefined : { cert: http.tlsCert, key: http.tlsKey };
}

/** At SIGHUP reads settings and certificate again. @returns stops listening to it */
function onReload(
  { loaded, reload }: ServeOptions,
  log: Log,
  lookAtCertificate: (() => Promise<void>) | undefined,
): () => void {
  let current = loaded;
  const again = async (): Promise<void> => {
    await lookAtCertificate?.();
    try {
      const next = await reload(current);
      current = next;
      log.level = next.config.log.level;
      log.info({ changed: next.changed, restartNeeded: next.restartNeeded }, 'read the settings again');
    } catch (error) {
      log.error({ error }, 'the settings cannot be read again; those in force stay');
    }
  };
  const onSignal = (): void => void again();
  process.on('SIGHUP', onSignal);
  return () => process.off('SIGHUP', onSignal);
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
