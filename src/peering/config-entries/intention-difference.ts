/** Whose calls are allowed or denied when one `service-intentions` entry takes the place of another; pure. */
import type { Reader } from '../../state/memory/reader.ts';
import type { Stored, Table } from '../../state/table.ts';
import { type ConfigEntry, configEntries, type EntryOf, entryKey } from './config-entry.ts';
import { type Caller, decide } from './intentions.ts';

type Entry = EntryOf<'service-intentions'>;

/** A source whose calls to the destination of the entry are decided otherwise than before. */
export interface CallerDifference extends Caller {
  readonly before: 'allow' | 'deny';
  readonly after: 'allow' | 'deny';
}

/** Of the sources that either entry names, in their order; `*` stands for whoever no rule names. */
export function intentionDifference(
  reader: Reader,
  { before, after }: { readonly before: Entry | undefined; readonly after: Entry },
  allowedByDefault: boolean,
): readonly CallerDifference[] {
  const { partition, name: destination } = after;
  const then = withEntry(reader, after);
  const callers = new Map(
    [...(before?.sources ?? []), ...after.sources].map(({ name, peer, partition: of = partition }) => {
      const caller: Caller =
        peer === undefined ? { source: name, sourcePartition: of } : { source: name, sourcePeer: peer };
      return [JSON.stringify([name, peer ?? '', peer === undefined ? of : '']).toLowerCase(), caller];
    }),
  );
  return [...callers.values()].flatMap((caller) => {
    const attempt = { ...caller, partition, destination };
    const [was, will] = [reader, then].map((one) => decide(one, attempt, allowedByDefault).allowed);
    return was === will ? [] : [{ ...caller, before: actionOf(was), after: actionOf(will) }];
  });
}

const actionOf = (allowed: boolean | undefined): 'allow' | 'deny' => (allowed === true ? 'allow' : 'deny');

/** The reader as it would be if the entry stood. */
function withEntry(reader: Reader, entry: Entry): Reader {
  const key = entryKey(entry.partition, entry.kind, entry.name);
  const stored: Stored<ConfigEntry> = { row: entry, createIndex: 0, modifyIndex: 0 };
  function get<Row>(table: Table<Row, string>, wanted: string): Stored<Row> | undefined {
    const isAsked = (table as unknown) === configEntries && wanted === key;
    return isAsked ? (stored as Stored<unknown> as Stored<Row>) : reader.get(table, wanted);
  }
  return { ...reader, get };
}
