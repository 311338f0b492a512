/**
 * Composition root: builds, starts, and stops the parts of the server.
 *
 * The start listens first, so that `/healthz` answers while a large state loads. It then loads the state, creates the
 * first credentials if the state is empty, and only then accepts requests. Every stop, whether by a signal, a failed
 * start, or a fatal error of the store, takes the same path: the listener finishes requests in flight, then the state
 * closes.
 */
import { randomBytes } from 'node:crypto';
import type { Config } from './config.ts';
import { setAnswerLimits } from './http/answer-limits.ts';
import { watchCertificate } from './http/server/certificates.ts';
import { createHttpServer } from './http/server/server.ts';
import { createLog, type Log } from './http/telemetry/log.ts';
import { addServices, type LiveSettings, type ServerContext } from './main/add-services.ts';
import { backgroundJobs, logClockJump } from './main/background-jobs.ts';
import { createEngine } from './main/create-engine.ts';
import { makeCredentials } from './main/credentials.ts';
import { rebuildIfDamaged, removeInterruptedRebuild } from './main/damaged-database.ts';
import { EXIT_FAILED, exitCodeOf } from './main/exit-code.ts';
import { oldGenerationBytes, processHeapLimit } from './main/heap-limit.ts';
import { importInto, openImport } from './main/import-export-file.ts';
import { keepIndexFloor, readIndexFloor } from './main/index-floor.ts';
import { GROUP_AND_OTHERS } from './main/limits.ts';
import { checkListenAddress, describeListenErrors, localNamesOf, readServerCertificate } from './main/listener.ts';
import { type MemoryPlan, planMemory } from './main/memory-plan.ts';
import { restrictDatabaseFiles, warnIfDirectoryIsOpen } from './main/private-files.ts';
import { createReload, type SettingsSource } from './main/reload-settings.ts';
import { SCHEMA } from './main/schema.ts';
import { aborted, catchSignals, type Signals } from './main/signals.ts';
import { createWriteRate, rowQuotas } from './main/write-limits.ts';
import { withFixedYoungGeneration } from './main/young-generation.ts';
import { systemClock } from './state/clock/clock.ts';
import { detectClockJumps } from './state/clock/clock-jump-detector.ts';
import { setDerivedLimits } from './state/memory/derived-cache.ts';
import { State } from './state/state.ts';
import { dataKeyCipher } from './state/transfer/encryption.ts';
import type { ExportFile } from './state/transfer/export-file.ts';
import { renderServerError } from './team-access/jsonapi/error-answer.ts';

export interface ServeOptions extends SettingsSource {
  readonly importFile: string | undefined;
  readonly importPassphrase: string | undefined;
  readonly recover: boolean;
  readonly version: string;
}

/** Runs a server until a signal or a fatal error ends it. @returns the exit code @throws ConfigError */
export async function serve(options: ServeOptions): Promise<number> {
  const { config, warnings } = options.loaded;
  const log = createLog({ level: config.log.level, format: config.log.format });
  for (const risk of warnings) log.warn({ risk }, 'setting is risky');
  process.umask(GROUP_AND_OTHERS);
  using signals = catchSignals((error) => log.error({ error }, 'action of SIGHUP failed'));
  const live: LiveSettings = { rateLimit: config.teamAccess.rateLimit, ratePerToken: config.limits.ratePerToken };
  const apply = ({ teamAccess, limits }: Config): void => {
    live.rateLimit = teamAccess.rateLimit;
    live.ratePerToken = limits.ratePerToken;
  };
  signals.onHangUp(createReload(options, log, apply));
  try {
    return await run(options, log, signals, live);
  } catch (error) {
    const exitCode = exitCodeOf(error);
    if (exitCode === undefined) throw error;
    log.error({ reason: (error as Error).message }, 'server failed');
    return exitCode;
  }
}

async function run(options: ServeOptions, log: Log, signals: Signals, live: LiveSettings): Promise<number> {
  const { config } = options.loaded;
  const clock = systemClock;
  const dataKey = config.dataKey === undefined ? undefined : dataKeyCipher(Buffer.from(config.dataKey.read()));
  const certificate = await readServerCertificate(config);
  const memory = divideMemory(config, log);
  const writeRate = createWriteRate(config.limits, clock);
  if (config.store === 'sqlite') {
    await restrictDatabaseFiles(config.dataDir, log);
    if (options.recover) await rebuildIfDamaged(config.dataDir, log, signals.stop);
  }
  using clockWatch = detectClockJumps(clock, (jumpMs) => logClockJump(log, jumpMs));
  await using parts = new AsyncDisposableStack();
  const importing = parts.use(await openImport(options.importFile));
  const { engine, reloadCertificates } = await createEngine(config, clock, log, signals.stop);
  signals.onHangUp(reloadCertificates);
  const isShared = config.store === 'etcd';
  const state = parts.use(
    State.create({
      engine,
      floor: isShared ? await readIndexFloor(config.dataDir, log) : undefined,
      schema: SCHEMA,
      node: config.node.name,
      clock,
      rowsMax: config.state.rowsMax,
      memory: memory.rows,
      quotas: rowQuotas(config.limits, config.state.rowsMax, memory.rows.bytesMax),
      ...(writeRate && { writeRate }),
      log: (level, message, fields = {}) => log[level](fields, message),
    }),
  );
  if (isShared) parts.use(keepIndexFloor({ directory: config.dataDir, state, clock, log }));
  const server = createHttpServer({
    host: config.http.address.host,
    port: config.http.address.port,
    ...(certificate === undefined ? {} : { certificate: certificate.current }),
    allowedOrigins: config.http.allowedOrigins,
    localNames: localNamesOf(config),
    limits: {
      ...config.limits,
      bodies: Math.min(config.limits.bodies, memory.bodiesBytesMax),
      bulkBody: Math.min(config.limits.bulkBody, memory.bodyBytesMax),
    },
    errorRenderers: { '/api/v2/': renderServerError },
    consul: config.compat.includes('consul'),
    requestIdPrefix: randomBytes(4).toString('hex'),
    clock,
    log,
  });
  const { address: host, port } = await describeListenErrors('http.address', server.listen());
  parts.defer(() => server.stop(config.shutdown.grace));
  if (config.services.includes('peering')) {
    await checkListenAddress('peering.address', config.peering.address);
    if (config.dns.address !== 'off') {
      await checkListenAddress('dns.address', config.dns.address, ['tcp', 'udp']);
    }
  }
  const address = `${certificate === undefined ? 'http' : 'https'}://${urlHost(host)}:${port}`;

  const made: ServerContext = { config, live, clock, log, dataKey, state, writeRate, server };
  const ended = Promise.race([aborted(signals.stop), state.fatal]);
  const prepared = prepareState(made, options, importing, address).then(() => 'prepared' as const);
  let end = await Promise.race([prepared, ended]);
  if (end === 'prepared') {
    for (const job of backgroundJobs({ state, clock, clockWatch, config, log })) state.addJob(job);
    parts.use(await withFixedYoungGeneration(() => addServices(made, options.version)));
    // Runs before the services stop: no new requests, and requests in flight finish on running services.
    parts.defer(() => server.stop(config.shutdown.grace));
    if (certificate !== undefined) {
      const replace = server.replaceCertificate;
      signals.onHangUp(watchCertificate({ ...certificate, replace, clock, log, signal: signals.stop }));
    }
    await server.open();
    log.info({ address, version: options.version, node: config.node.name, store: config.store }, 'ready');
    end = await ended;
  }
  if (end instanceof Error) {
    log.error({ error: end, reason: end.message }, 'server failed');
    return exitCodeOf(end) ?? EXIT_FAILED;
  }
  log.info('stopping');
  return 0;
}

/** Divides the memory of the process among rows, caches, and responses. @throws StateError `memory-full` */
function divideMemory(config: Config, log: Log): MemoryPlan {
  const oldGeneration = oldGenerationBytes(processHeapLimit());
  const plan = planMemory({ oldGenerationBytes: oldGeneration, sharedStore: config.store === 'etcd' });
  setDerivedLimits(plan.derived);
  setAnswerLimits(plan.answers);
  const toMebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);
  log.info({ heapMiB: toMebibytes(oldGeneration), rowsMiB: toMebibytes(plan.rows.bytesMax) }, 'memory divided');
  return plan;
}

/** Loads the state, imports an export file if one is given, and creates missing credentials. */
async function prepareState(
  { config, clock, log, dataKey, state }: ServerContext,
  options: ServeOptions,
  importing: ExportFile | undefined,
  address: string,
): Promise<void> {
  const origin = options.loaded.inForce.find(({ key }) => key === 'cluster.datacenter')?.origin;
  const isDefaultDatacenter = origin?.kind === 'default';
  const datacenter = isDefaultDatacenter ? undefined : config.cluster.datacenter;
  const keys = { passphrase: options.importPassphrase, dataKey, datacenter };
  await state.start(async (engine, signal) => {
    if (importing !== undefined) await importInto(engine, importing, keys, log, signal);
  });
  if (config.store === 'sqlite') {
    removeInterruptedRebuild(config.dataDir);
    await warnIfDirectoryIsOpen(config.dataDir, log);
  }
  const start = {
    state,
    clock,
    directory: config.dataDir,
    address,
    datacenter: config.cluster.datacenter,
    isDefaultDatacenter,
    presetSecrets: () => ({
      aclToken: config.bootstrap.aclToken?.read(),
      adminToken: config.bootstrap.adminToken?.read(),
    }),
  };
  await makeCredentials(start, { recover: options.recover, imported: importing !== undefined }, log);
}

/** Formats a host for a URL. */
const urlHost = (host: string): string => (host.includes(':') ? `[${host}]` : host);
