/**
 * The Prometheus metrics of the peering service. Totals are visible to every caller; metrics with the name of a peering
 * are in a registry of their own.
 */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Metrics } from '../../http/operators/metrics.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { type Peering, peerings } from '../record/record.ts';
import type { ImportFigures } from '../stream/importing/import-budgets.ts';
import { IMPORTS_MAX } from '../stream/importing/import-usage.ts';
import type { PeeringTraffic } from '../stream/status/stream-traffic.ts';
import type { RunningPeering } from './start-peering.ts';

/** The states in metrics. A record with a `Failing` reason counts as `FAILING` ([PEER-28]). */
const STATES = ['INITIAL', 'ACTIVE', 'FAILING', 'TERMINATED'] as const;

export function peeringMetrics(
  { registry, restricted }: Pick<Metrics, 'registry' | 'restricted'>,
  peering: RunningPeering,
): void {
  addTotals(registry, peering);
  addStates(restricted, peering);
  addTimes(restricted, peering);
  for (const [name, help, read] of COUNTERS) {
    addCounter(restricted, name, help, () => figuresOf(peering, peering.traffic.byPeering, read));
  }
  for (const [name, help, read] of IMPORT_COUNTERS) {
    addCounter(restricted, name, help, () => figuresOf(peering, peering.budgets.byPeering, read));
  }
  addImports(restricted, peering);
}

const metricState = ({ state, failing }: DeepReadonly<Peering>): (typeof STATES)[number] =>
  failing === undefined ? state : 'FAILING';

function rowsOf({ service }: RunningPeering): DeepReadonly<Peering>[] {
  return service.credentials.state.snapshot.all(peerings).map(({ row }) => row);
}

function addTotals(registry: Registry, peering: RunningPeering): void {
  const registers = [registry];
  new Gauge({
    name: 'accord_peerings',
    help: 'Peerings by state',
    labelNames: ['state'],
    registers,
    collect() {
      for (const state of STATES) this.set({ state }, 0);
      for (const row of rowsOf(peering)) this.inc({ state: metricState(row) });
    },
  });
  new Gauge({
    name: 'accord_peer_streams',
    help: 'Peer streams that this server holds',
    registers,
    collect() {
      this.set(peering.live.count);
    },
  });
  new Gauge({
    name: 'accord_peer_connections_unproven',
    help: 'Connections of peers that have not authenticated yet',
    registers,
    collect() {
      this.set(peering.listener.unauthenticatedCount);
    },
  });
  new Counter({
    name: 'accord_peer_connections_refused_total',
    help: 'Connections of peers that were closed because too many had not authenticated',
    registers,
    collect() {
      this.reset();
      this.inc(peering.listener.displacedCount);
    },
  });
}

const LABELS = ['partition', 'peering'] as const;
const labelsOf = ({ partition, name }: DeepReadonly<Peering>) => ({ partition, peering: name });

function addStates(named: Registry, peering: RunningPeering): void {
  new Gauge({
    name: 'accord_peering_state',
    help: '1 for the current state of the peering',
    labelNames: [...LABELS, 'state'],
    registers: [named],
    collect() {
      this.reset();
      for (const row of rowsOf(peering)) this.set({ ...labelsOf(row), state: metricState(row) }, 1);
    },
  });
}

function addTimes(named: Registry, peering: RunningPeering): void {
  const { streams, clock } = peering.service;
  new Gauge({
    name: 'accord_peering_last_heartbeat_seconds',
    help: 'Time since the last heartbeat of the peer',
    labelNames: LABELS,
    registers: [named],
    collect() {
      this.reset();
      for (const row of rowsOf(peering)) {
        const heartbeatMs = streams.of(row.id)?.heartbeatMs;
        if (heartbeatMs !== undefined) this.set(labelsOf(row), Math.max(0, clock.now() - heartbeatMs) / 1000);
      }
    },
  });
  new Gauge({
    name: 'accord_peering_round_trip_seconds',
    help: 'Time from sending a resource to its acknowledgment, the latest one on this server',
    labelNames: LABELS,
    registers: [named],
    collect() {
      this.reset();
      for (const row of rowsOf(peering)) {
        const roundTripMs = peering.traffic.byPeering.get(row.id)?.roundTripMs;
        if (roundTripMs !== undefined) this.set(labelsOf(row), roundTripMs / 1000);
      }
    },
  });
}

type Read = (traffic: Readonly<PeeringTraffic>) => number;

/** Counters of this server's streams since its start. */
const COUNTERS: readonly (readonly [name: string, help: string, read: Read])[] = [
  ['accord_peering_received_messages_total', 'Messages received', ({ messagesIn }) => messagesIn],
  ['accord_peering_sent_messages_total', 'Messages sent', ({ messagesOut }) => messagesOut],
  ['accord_peering_received_bytes_total', 'Bytes of messages received', ({ bytesIn }) => bytesIn],
  ['accord_peering_sent_bytes_total', 'Bytes of messages sent', ({ bytesOut }) => bytesOut],
  ['accord_peering_nacks_received_total', 'Resources that the peer rejected', ({ refusedByPeer }) => refusedByPeer],
  ['accord_peering_nacks_sent_total', 'Resources of the peer that were rejected', ({ refusedHere }) => refusedHere],
  ['accord_peering_reconnects_total', 'Streams opened after the first one', ({ opened }) => Math.max(0, opened - 1)],
];

/** Counters of the imports that this server has received since its start ([STREAM-96]). */
const IMPORT_COUNTERS: readonly (readonly [name: string, help: string, read: (figures: ImportFigures) => number])[] = [
  ['accord_peering_import_bytes_total', 'Bytes written for imports', ({ writtenBytes }) => writtenBytes],
  [
    'accord_peering_import_delay_seconds_total',
    'Time for which imports waited, because the peer exceeds its write budget',
    ({ delayedMs }) => delayedMs / 1_000,
  ],
  ['accord_peering_imports_refused_total', 'Services of the peer that were rejected', ({ refused }) => refused],
];

type Labeled = readonly [labels: ReturnType<typeof labelsOf>, value: number];

/** Returns a figure of each peering that has any. */
function figuresOf<T>(peering: RunningPeering, figures: ReadonlyMap<string, T>, read: (of: T) => number): Labeled[] {
  return rowsOf(peering).flatMap((row): Labeled[] => {
    const found = figures.get(row.id);
    return found === undefined ? [] : [[labelsOf(row), read(found)]];
  });
}

function addCounter(named: Registry, name: string, help: string, values: () => Labeled[]): void {
  new Counter({
    name,
    help,
    labelNames: LABELS,
    registers: [named],
    collect() {
      this.reset();
      for (const [labels, value] of values()) this.inc(labels, value);
    },
  });
}

/** Adds what the imports of each peer use, next to the limits ([SVC-83]). */
function addImports(named: Registry, { budgets, service }: RunningPeering): void {
  new Gauge({
    name: 'accord_peering_imports',
    help: 'Services, instances and bytes imported from the peer, on the server of its stream',
    labelNames: [...LABELS, 'quantity'],
    registers: [named],
    collect() {
      this.reset();
      for (const { row } of service.credentials.state.snapshot.all(peerings)) {
        for (const [quantity, count] of Object.entries(budgets.byPeering.get(row.id)?.used ?? {})) {
          this.set({ ...labelsOf(row), quantity }, count);
        }
      }
    },
  });
  new Gauge({
    name: 'accord_peering_imports_max',
    help: 'The most services, instances and bytes that are accepted from one peer',
    labelNames: ['quantity'],
    registers: [named],
    collect() {
      for (const [quantity, count] of Object.entries(IMPORTS_MAX)) this.set({ quantity }, count);
    },
  });
}
