/**
 * The peering service as a running whole: identity, listener, dialers, jobs and endpoints, started in the order in
 * which they need each other and stopped in the other.
 */
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Credentials } from '../credentials/operation.ts';
import type { Endpoint } from '../http/endpoint.ts';
import type { Log } from '../http/log.ts';
import type { Reads } from '../http/v1/reads.ts';
import type { Clock } from '../state/clock.ts';
import { expiryJob } from '../state/expiry.ts';
import type { Job } from '../state/jobs.ts';
import type { Sealer } from '../state/sealing.ts';
import { catalogJobs } from './catalog/catalog-jobs.ts';
import { catalogEndpoints } from './catalog/endpoints.ts';
import { checkEndpoints } from './check/endpoints.ts';
import { systemResolve } from './check/resolve-host.ts';
import { peeringEndpoints } from './endpoints.ts';
import { entryEndpoints } from './entries/endpoints.ts';
import { createExchange } from './exchange.ts';
import { exchangeSecret } from './exchange-secret.ts';
import { explainEndpoints } from './explain/endpoints.ts';
import { exportedRecordsJob } from './export/exported-records.ts';
import { createExporter, type Exporter } from './export/exporter.ts';
import { peeringRemovalJob } from './removal.ts';
import { createSecretStore } from './sealed.ts';
import { reservations, tombstones } from './secrets.ts';
import type { PeeringService } from './service.ts';
import { peerRoutes } from './stream/acceptor.ts';
import type { SessionTimes } from './stream/contract.ts';
import { createLiveStreams, type LiveStreams } from './stream/live-streams.ts';
import { orphanedStreamsJob, setBackGoneStreams } from './stream/orphans.ts';
import { peerConnections } from './stream/peer-connection.ts';
import { listenForPeers, type PeerListener } from './stream/peer-listener.ts';
import { followServerAddresses } from './stream/server-addresses.ts';
import type { StreamParts } from './stream/stream-parts.ts';
import { createStreamTimes } from './stream/stream-times.ts';
import { createStreamTraffic, type StreamTraffic } from './stream/stream-traffic.ts';
import { superviseDialing } from './stream/supervisor.ts';
import { certificateJob } from './trust/certificate-job.ts';
import { trustEndpoints } from './trust/endpoints.ts';
import { openServerIdentity } from './trust/identity.ts';

/** The settings of the service, and what it stands on. */
export interface PeeringParts {
  readonly credentials: Credentials;
  /** This server's name. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly dataKey: Sealer | undefined;
  readonly reads: Reads;
  readonly version: string;
  readonly consul: boolean;
  /** The host of `http.address`: where services of the local agent are, unless they say otherwise. */
  readonly agentAddress: string;
  /** `peering.address` */
  readonly listen: { readonly host: string; readonly port: number };
  /** `peering.advertise`, as `host:port`; undefined: where it listens. */
  readonly advertise: readonly string[] | undefined;
  readonly sessions: SessionTimes;
  readonly tokenTtlMs: number;
  readonly peeringsMax: number;
  readonly streamsMax: number;
  /** Numbers from 0 up to 1. */
  readonly random: () => number;
}

export interface RunningPeering extends AsyncDisposable {
  /** Where peers are accepted, `host:port`. */
  readonly address: string;
  readonly service: PeeringService;
  readonly listener: PeerListener;
  readonly live: LiveStreams;
  readonly traffic: StreamTraffic;
  readonly endpoints: readonly Endpoint[];
  /** Takes no more streams and says goodbye on those that are open; resolves when their records are told. */
  stop(): Promise<void>;
}

/** Needs a loaded state whose first start has been made. @throws DataKeyError, StateError, Error of the system */
export async function startPeering(parts: PeeringParts): Promise<RunningPeering> {
  const { credentials, node, clock, log, version, sessions, random, reads, consul } = parts;
  const { state } = credentials;
  await using opened = new AsyncDisposableStack();
  const secrets = createSecretStore(parts.dataKey);
  const identity = opened.use(await openServerIdentity({ state, clock, secrets, log }));
  const traffic = createStreamTraffic();
  const times = opened.use(createStreamTimes(state, clock, traffic.forget));
  const live = opened.use(createLiveStreams({ state, node, clock, log, traffic }));

  if (live.holder() !== undefined) await setBackGoneStreams(state, new AbortController().signal);
  const listener = opened.use(
    await listenForPeers({ ...parts.listen, identity, handshakeMs: sessions.handshakeTimeoutMs, clock, log }),
  );
  const address = hostPortText(listener.address);
  const own = parts.advertise ?? [address];
  const addresses = opened.use(followServerAddresses(state, clock, own));
  const { edition } = credentials;
  const exporter = opened.use(createExporter({ state, clock, log }));
  const stream: StreamParts = {
    state,
    clock,
    log,
    identity,
    addresses,
    live,
    times,
    traffic,
    exporter,
    sessions,
    edition,
    version,
  };
  const connect = peerConnections(version);
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
    consul,
  };
  listener.serve(
    peerRoutes({
      ...stream,
      exchangeSecret: (presented) => exchangeSecret(service, presented),
      streamsMax: parts.streamsMax,
    }),
  );
  for (const job of [...jobsOf(service, exporter, log), ...catalogJobs(state, clock)]) state.addJob(job);
  const dialing = new AbortController();
  const supervision = superviseDialing({ ...stream, connect, secrets, random }, dialing.signal);
  opened.defer(async () => {
    dialing.abort();
    await supervision;
  });

  const owned = opened.move();
  return {
    address,
    service,
    listener,
    live,
    traffic,
    endpoints: [
      ...peeringEndpoints(service, reads),
      ...checkEndpoints({ service, around: { clock, resolve: systemResolve, version, randomId: randomUUID } }),
      ...catalogEndpoints({ credentials, reads, agent: { name: node, address: parts.agentAddress }, consul }),
      ...entryEndpoints({ credentials, reads, consul }),
      ...explainEndpoints({ credentials, streams: { node, live: live.byPeering }, consul }),
      ...trustEndpoints({ trust: { credentials, clock, secrets, name: identity }, reads, consul }),
    ],
    async stop() {
      listener.close();
      dialing.abort();
      await live.stop();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function jobsOf(
  { credentials: { state }, clock, secrets, identity }: PeeringService,
  exporter: Exporter,
  log: Log,
): Job[] {
  const nothingMore = (): void => undefined;
  return [
    peeringRemovalJob(state, clock),
    orphanedStreamsJob(state, clock),
    exportedRecordsJob({ state, exporter, clock, log }),
    certificateJob({ state, clock, secrets, name: identity, log }),
    expiryJob(state, tombstones, clock, nothingMore),
    expiryJob(state, reservations, clock, nothingMore),
  ];
}

const hostPortText = ({ address, port, family }: AddressInfo): string =>
  family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`;
