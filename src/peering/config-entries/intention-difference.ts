/** Compares two `service-intentions` entries by the calls that they decide differently. */
import { mapInSlices, type Steps } from '../../state/clock/slices.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Stored, Table } from '../../state/table.ts';
import { type ConfigEntry, configEntries, type EntryOf, entryKey } from './config-entry.ts';
import { type CallSource, decide } from './intentions.ts';

type Entry = EntryOf<'service-intentions'>;

/** A source whose calls to the entry's destination are decided differently. */
export interface SourceDifference extends CallSource {
  readonly before: 'allow' | 'deny';
  readonly after: 'allow' | 'deny';
}

/**
 * Returns the differences for the sources that either entry names. `*` means every source without a rule of its own.
 */
export function* intentionDifference(
  reader: Reader,
  { before, after }: { readonly before: Entry | undefined; readonly after: Entry },
  allowedByDefault: boolean,
): Steps<readonly SourceDifference[]> {
  const { partition, name: destination } = after;
  const changed = withEntry(reader, after);
  const callSources = new Map(
    [...(before?.sources ?? []), ...after.sources].map(({ name, peer, partition: of = partition }) => {
      const callSource: CallSource =
        peer === undefined ? { source: name, sourcePartition: of } : { source: name, sourcePeer: peer };
      return [JSON.stringify([name, peer ?? '', peer === undefined ? of : '']).toLowerCase(), callSource];
    }),
  );
  const differences = yield* mapInSlices(callSources.values(), (callSource): SourceDifference[] => {
    const call = { ...callSource, partition, destination };
    const [wasAllowed, willBeAllowed] = [reader, changed].map((one) => decide(one, call, allowedByDefault).allowed);
    return wasAllowed === willBeAllowed
      ? []
      : [{ ...callSource, before: actionOf(wasAllowed), after: actionOf(willBeAllowed) }];
  });
  return differences.flat();
}

const actionOf = (allowed: boolean | undefined): 'allow' | 'deny' => (allowed === true ? 'allow' : 'deny');

function withEntry(reader: Reader, entry: Entry): Reader {
  const key = entryKey(entry.partition, entry.kind, entry.name);
  const stored: Stored<ConfigEntry> = { row: entry, createIndex: 0, modifyIndex: 0 };
  function get<Row>(table: Table<Row, string>, wanted: string): Stored<Row> | undefined {
    const isEntry = (table as unknown) === configEntries && wanted === key;
    return isEntry ? (stored as Stored<unknown> as Stored<Row>) : reader.get(table, wanted);
  }
  return { ...reader, get };
}
