/**
 * Keeps what records say is exported true, whether a stream lives or not: `ExportedServices` is always shown. So it is a
 * job of one server, and not of those that hold streams: there is one writer for each record, a peering that waits for its
 * first stream is told of as well, and streams that move from server to server write nothing.
 */

import type { Log } from '../../http/telemetry/log.ts';
import { type Clock, sleep } from '../../state/clock/clock.ts';
import { isStateError } from '../../state/errors.ts';
import type { Job } from '../../state/jobs/placement.ts';
import type { State } from '../../state/state.ts';
import { peerings } from '../record/record.ts';
import { createDueRecords } from './due-records.ts';
import type { Exporter, PeerExports } from './exporter.ts';
import { RECORD_PAUSE_MS, RECORDS_AT_ONCE } from './limits.ts';

export interface ExportedRecordsParts {
  readonly state: State;
  readonly exporter: Exporter;
  readonly clock: Clock;
  readonly log: Log;
}

/** Writes a record only when the set of names is another one. */
export function exportedRecordsJob(parts: ExportedRecordsParts): Job {
  return {
    name: 'exported-records',
    async run(signal) {
      const records = createRecords(parts);
      const ending = new AbortController();
      const either = AbortSignal.any([signal, ending.signal]);
      try {
        await Promise.all([followPeerings(parts.state, records, either), writeDue(parts, records, either)]);
      } finally {
        ending.abort();
        records.end();
      }
    },
  };
}

interface Records {
  /** The peering is there, has changed, or is gone. */
  look(id: string): void;
  /** Resolves when some are due. */
  some(signal: AbortSignal): Promise<void>;
  /** Takes some that are due, with their names. */
  take(most: number): readonly (readonly [id: string, names: readonly string[]])[];
  end(): void;
}

function createRecords({ state, exporter }: ExportedRecordsParts): Records {
  const exports = new Map<string, PeerExports>();
  const due = createDueRecords();
  return {
    look(id) {
      const row = state.snapshot.get(peerings, id)?.row;
      if (row === undefined || row.state === 'TERMINATED') {
        exports.get(id)?.end();
        exports.delete(id);
        due.delete(id);
      } else if (!exports.has(id)) {
        const peer = { partition: row.partition, peerName: row.name };
        exports.set(id, exporter.follow(peer, { listChanged: () => due.add(id) }));
        due.add(id);
      }
    },
    some: (signal) => due.some(signal),
    take: (most) =>
      due.take(most).flatMap((id) => {
        const names = exports.get(id)?.names();
        return names === undefined ? [] : [[id, names] as const];
      }),
    end() {
      for (const one of exports.values()) one.end();
    },
  };
}

async function followPeerings(state: State, records: Records, signal: AbortSignal): Promise<void> {
  const feed = state.changes(signal);
  for (const { row } of state.snapshot.all(peerings)) records.look(row.id);
  for await (const { changes } of feed) {
    for (const { table, key } of changes) if (table === peerings) records.look(key);
  }
}

async function writeDue({ state, clock, log }: ExportedRecordsParts, records: Records, signal: AbortSignal) {
  while (!signal.aborted) {
    await records.some(signal);
    await Promise.all(records.take(RECORDS_AT_ONCE).map(([id, names]) => write(state, id, names, signal, log)));
    await sleep(clock, RECORD_PAUSE_MS, signal).catch(() => undefined);
  }
}

async function write(state: State, id: string, names: readonly string[], signal: AbortSignal, log: Log): Promise<void> {
  try {
    await state.write(
      (tx) => {
        const row = tx.get(peerings, id)?.row;
        if (row === undefined || row.state === 'TERMINATED' || isSame(row.exported, names)) return;
        tx.put(peerings, { ...row, exported: names });
      },
      { signal },
    );
  } catch (error) {
    // What does not fit does not fit later either; the streams send it all the same.
    if (!isStateError(error, 'too-large')) throw error;
    const peering = state.snapshot.get(peerings, id)?.row.name;
    log.warn({ error, peering }, 'a record cannot hold the names of all services that are exported');
  }
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a === b || (a.length === b.length && a.every((name, i) => name === b[i]));
