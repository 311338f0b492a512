/** `GET /v1/imported-services`: what came from each peer, by name; can wait. */
import { type Static, Type } from 'typebox';
import { permits } from '../../../credentials/grant.ts';
import { type Asked, type Credentials, locate, waitingAs } from '../../../credentials/operation.ts';
import { partitionKey } from '../../../credentials/partition.ts';
import type { Evaluate } from '../../../http/blocking/reads.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import { spanOf, watchedSpan } from '../../find/list-scope.ts';
import { nameEntry, peerings } from '../../record/record.ts';
import { nameKey } from '../config-entry.ts';

const importedSchema = Type.Object(
  { Service: Type.String(), Partition: Type.String(), SourcePeer: Type.String() },
  { title: 'ImportedService' },
);
type Imported = Readonly<Static<typeof importedSchema>>;

export const importedListSchema = Type.Array(importedSchema);

/** By partition, then by the name of the service, then of the peer: those that the caller may read. */
export function listImported(credentials: Credentials, asked: Asked): Evaluate {
  const { state } = credentials;
  return (snapshot) => {
    const { caller, partition } = locate(credentials, snapshot, asked, true);
    const span = spanOf(snapshot, caller, partition, 'services');
    const all = span.partitions.flatMap((name) => importedInto(snapshot, name));
    const visible = all.filter(({ Service: name, Partition: of }) =>
      permits(caller.grants, { resource: 'services', access: 'read', partition: of, name }),
    );
    return {
      ...waitingAs(caller),
      watched: [
        ...watchedSpan(credentials, caller, partition),
        ...span.partitions.map((name) => state.watchEntry(peerings, 'partition', partitionKey(name))),
      ],
      filtered: span.filtered || visible.length < all.length,
      body: () => visible,
    };
  };
}

function importedInto(reader: Reader, partition: string): readonly Imported[] {
  const imported = reader
    .list(peerings, 'partition', partitionKey(partition))
    .flatMap(({ row }) => row.imported.map((Service) => ({ Service, Partition: partition, SourcePeer: row.name })));
  return imported.sort(
    (a, b) =>
      compare(nameKey(a.Service), nameKey(b.Service)) ||
      compare(nameEntry(partition, a.SourcePeer), nameEntry(partition, b.SourcePeer)),
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
