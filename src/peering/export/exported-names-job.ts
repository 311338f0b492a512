/**
 * The background job that keeps `ExportedServices` of every record current, with or without a stream ([SVC-77]). It
 * runs on one server, so each record has one writer and a stream that moves to another server causes no write.
 */
import type { Log } from '../../http/telemetry/log.ts';
import { type Clock, sleep } from '../../state/clock/clock.ts';
import { isStateError } from '../../state/errors.ts';
import type { Job } from '../../state/jobs/placement.ts';
import type { State } from '../../state/state.ts';
import { peerings } from '../record/record.ts';
import { createDueRecords } from './due-records.ts';
import type { Exporter, PeerExports } from './exporter.ts';
import { NAMES_WRITE_INTERVAL_MS, NAMES_WRITES_IN_PARALLEL_MAX } from './limits.ts';

export interface ExportedNamesDependencies {
  readonly state: State;
  readonly exporter: Exporter;
  readonly clock: Clock;
  readonly log: Log;
}

/** Returns the job. It writes a record only when the set of names has changed. */
export function exportedNamesJob(dependencies: ExportedNamesDependencies): Job {
  return {
    name: 'exported-records',
    async run(signal) {
      const peers = trackPeerings(dependencies);
      const ending = new AbortController();
      const either = AbortSignal.any([signal, ending.signal]);
      try {
        await Promise.all([
          followChanges(dependencies.state, peers, either),
          writeDueNames(dependencies, peers, either),
        ]);
      } finally {
        ending.abort();
        peers.close();
      }
    },
  };
}

/** The peerings that are not `TERMINATED`, each with a subscription to the exporter. */
interface TrackedPeerings {
  /** Starts or ends the subscription of a peering after its row changed. */
  review(id: string): void;
  /** Resolves when a record is due, or the signal aborts. */
  whenDue(signal: AbortSignal): Promise<void>;
  /** Returns up to `max` due records with the names to write. */
  take(max: number): readonly (readonly [id: string, names: readonly string[]])[];
  close(): void;
}

function trackPeerings({ state, exporter }: ExportedNamesDependencies): TrackedPeerings {
  const exports = new Map<string, PeerExports>();
  const due = createDueRecords();
  return {
    review(id) {
      const row = state.snapshot.get(peerings, id)?.row;
      if (row === undefined || row.state === 'TERMINATED') {
        exports.get(id)?.close();
        exports.delete(id);
        due.delete(id);
      } else if (!exports.has(id)) {
        const peer = { partition: row.partition, peerName: row.name };
        exports.set(id, exporter.subscribe(peer, { listChanged: () => due.add(id) }));
        due.add(id);
      }
    },
    whenDue: (signal) => due.whenNotEmpty(signal),
    take: (max) =>
      due.take(max).flatMap((id) => {
        const names = exports.get(id)?.names();
        return names === undefined ? [] : [[id, names] as const];
      }),
    close() {
      for (const subscription of exports.values()) subscription.close();
    },
  };
}

async function followChanges(state: State, peers: TrackedPeerings, signal: AbortSignal): Promise<void> {
  const feed = state.changes(signal);
  for (const { row } of state.snapshot.all(peerings)) peers.review(row.id);
  for await (const { changes } of feed) {
    for (const { table, key } of changes) if (table === peerings) peers.review(key);
  }
}

async function writeDueNames(
  { state, clock, log }: ExportedNamesDependencies,
  peers: TrackedPeerings,
  signal: AbortSignal,
) {
  while (!signal.aborted) {
    await peers.whenDue(signal);
    await Promise.all(
      peers.take(NAMES_WRITES_IN_PARALLEL_MAX).map(([id, names]) => writeNames(state, id, names, signal, log)),
    );
    await sleep(clock, NAMES_WRITE_INTERVAL_MS, signal).catch(() => undefined);
  }
}

async function writeNames(
  state: State,
  id: string,
  names: readonly string[],
  signal: AbortSignal,
  log: Log,
): Promise<void> {
  try {
    await state.write(
      (tx) => {
        const row = tx.get(peerings, id)?.row;
        if (row === undefined || row.state === 'TERMINATED' || sameNames(row.exported, names)) return;
        tx.put(peerings, { ...row, exported: names });
      },
      { signal },
    );
  } catch (error) {
    // A retry would fail as well. Streams send the services regardless of the record.
    if (!isStateError(error, 'too-large')) throw error;
    const peering = state.snapshot.get(peerings, id)?.row.name;
    log.warn({ error, peering }, 'record too small for the names of exported services');
  }
}

const sameNames = (a: readonly string[], b: readonly string[]): boolean =>
  a === b || (a.length === b.length && a.every((name, i) => name === b[i]));
