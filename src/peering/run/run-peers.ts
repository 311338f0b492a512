/**
 * The peering service without its listener and endpoints: streams, dialing, accepting and background jobs. The caller
 * provides the connections, which are sockets or a simulated network.
 */
import type { Credentials } from '../../credentials/caller.ts';
import type { Log } from '../../http/telemetry/log.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { expiryJob } from '../../state/jobs/expiry.ts';
import type { Job } from '../../state/jobs/placement.ts';
import { dueChecksJob } from '../catalog/agent/due-checks.ts';
import { lostNodesJob } from '../catalog/agent/lost-nodes.ts';
import { exportedNamesJob } from '../export/exported-names-job.ts';
import { createExporter, type Exporter } from '../export/exporter.ts';
import type { PeeringService } from '../peering-context.ts';
import type { SecretStore } from '../record/encrypted-secret.ts';
import { peerings } from '../record/record.ts';
import { reservations, tombstones } from '../record/secrets.ts';
import { type Acceptor, createAcceptor } from '../stream/accepting/acceptor.ts';
import { exchangeSecret } from '../stream/accepting/exchange-secret.ts';
import type { SessionTimes } from '../stream/contract.ts';
import { createExchange } from '../stream/dialing/exchange.ts';
import { superviseDialing } from '../stream/dialing/supervisor.ts';
import { createImportBudgets, type ImportBudgets } from '../stream/importing/import-budgets.ts';
import { createLiveStreams, type LiveStreams } from '../stream/status/live-streams.ts';
import { orphanedStreamsJob, resetOrphanedPeerings } from '../stream/status/orphaned-streams.ts';
import { createRefusalLog } from '../stream/status/refusal-log.ts';
import { followServerAddresses } from '../stream/status/server-addresses.ts';
import { createStreamTimes } from '../stream/status/stream-times.ts';
import { createStreamTraffic, type StreamTraffic } from '../stream/status/stream-traffic.ts';
import type { ConnectPeer, StreamDependencies } from '../stream/stream-dependencies.ts';
import { certificateJob } from '../trust/certificate-job.ts';
import type { ServerIdentity } from '../trust/identity.ts';
import { peeringRemovalJob } from './removal.ts';

export interface PeersOptions {
  readonly credentials: Credentials;
  /** This server's name. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly identity: ServerIdentity;
  readonly secrets: SecretStore;
  /** The addresses, `host:port`, at which other clusters reach this server. */
  readonly addresses: readonly string[];
  readonly connect: ConnectPeer;
  readonly version: string;
  readonly consul: boolean;
  readonly sessions: SessionTimes;
  readonly tokenTtlMs: number;
  readonly peeringsMax: number;
  readonly streamsMax: number;
  /** Returns a number from 0 up to 1, as `Math.random` does. */
  readonly random: () => number;
}

export interface RunningPeers extends AsyncDisposable {
  readonly service: PeeringService;
  readonly acceptor: Acceptor;
  readonly live: LiveStreams;
  readonly traffic: StreamTraffic;
  readonly budgets: ImportBudgets;
  /** Stops dialing and closes the open streams. Resolves when their records are updated. */
  stop(): Promise<void>;
}

/** Starts the service. Requires a loaded state that has completed its first start. @throws StateError */
export async function runPeers(parts: PeersOptions): Promise<RunningPeers> {
  const { credentials, node, clock, log, identity, secrets, connect, version, sessions, random } = parts;
  const { state, edition } = credentials;
  await using opened = new AsyncDisposableStack();
  const traffic = createStreamTraffic();
  const refusals = createRefusalLog(log, clock);
  const budgets = createImportBudgets(clock, (id) => state.snapshot.get(peerings, id) !== undefined);
  const forget = (peeringId: string): void => {
    budgets.forget(peeringId);
    traffic.forget(peeringId);
    refusals.forget(peeringId);
  };
  const times = opened.use(createStreamTimes(state, clock, forget));
  const addresses = opened.use(followServerAddresses(state, clock, parts.addresses));
  const live = opened.use(createLiveStreams({ state, node, clock, log, traffic, addresses }));
  if (live.holder() !== undefined) await resetOrphanedPeerings(state, new AbortController().signal);
  const exporter = opened.use(createExporter({ state, clock, log }));
  const stream: StreamDependencies = {
    state,
    clock,
    log,
    identity,
    addresses,
    live,
    times,
    traffic,
    refusals,
    budgets,
    exporter,
    sessions,
    edition,
    version,
  };
  const service: PeeringService = {
    credentials,
    clock,
    identity,
    secrets,
    exchange: createExchange(connect, clock),
    streams: times,
    addresses: addresses.current,
    tokenTtlMs: parts.tokenTtlMs,
    peeringsMax: parts.peeringsMax,
    consul: parts.consul,
  };
  const acceptor = createAcceptor({
    ...stream,
    exchangeSecret: (presented) => exchangeSecret(service, presented),
    streamsMax: parts.streamsMax,
  });
  for (const job of backgroundJobs(service, exporter, log)) state.addJob(job);
  const dialing = new AbortController();
  const supervision = superviseDialing({ ...stream, connect, secrets, random }, dialing.signal);
  opened.defer(async () => {
    dialing.abort();
    await supervision;
  });

  const owned = opened.move();
  return {
    service,
    acceptor,
    live,
    traffic,
    budgets,
    async stop() {
      dialing.abort();
      await live.stop();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function backgroundJobs(
  { credentials: { state }, clock, secrets, identity }: PeeringService,
  exporter: Exporter,
  log: Log,
): Job[] {
  const noFollowUp = (): void => undefined;
  return [
    peeringRemovalJob(state, clock),
    orphanedStreamsJob(state, clock),
    exportedNamesJob({ state, exporter, clock, log }),
    certificateJob({ state, clock, secrets, name: identity, log }),
    expiryJob(state, tombstones, clock, noFollowUp),
    expiryJob(state, reservations, clock, noFollowUp),
    dueChecksJob(state, clock),
    lostNodesJob(state, clock),
  ];
}
