/** `GET /v1/imported-services`: the names of the services imported from each peer ([SVC-81]). */
import { type Static, Type } from 'typebox';
import { permits } from '../../../credentials/acl-token.ts';
import { type Credentials, type RequestContext, resolveCaller, waitOptionsOf } from '../../../credentials/caller.ts';
import { partitionKey } from '../../../credentials/partition.ts';
import type { Evaluate } from '../../../http/blocking/blocking-query.ts';
import { jsonList } from '../../../http/v1/json-answer.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import { resolveListScope, watchedScope } from '../../find/list-scope.ts';
import { foundServices, nameEntry, peerings } from '../../record/record.ts';
import { nameKey } from '../config-entry.ts';

const importedSchema = Type.Object(
  { Service: Type.String(), Partition: Type.String(), SourcePeer: Type.String() },
  { title: 'ImportedService' },
);
type Imported = Readonly<Static<typeof importedSchema>>;

export const importedListSchema = Type.Array(importedSchema);

/** Lists the services that the caller may read, by partition, then by service, then by peer. */
export function listImported(credentials: Credentials, context: RequestContext): Evaluate {
  const { state } = credentials;
  return (snapshot) => {
    const { caller, partition } = resolveCaller(credentials, snapshot, context, true);
    const scope = resolveListScope(snapshot, caller, partition, 'services');
    const all = scope.partitions.flatMap((name) => importedInto(snapshot, name));
    const visible = all.filter(({ Service: name, Partition: of }) =>
      permits(caller.grants, { resource: 'services', access: 'read', partition: of, name }),
    );
    return {
      ...waitOptionsOf(caller),
      watched: [
        ...watchedScope(credentials, caller, partition),
        ...scope.partitions.map((name) => state.watchEntry(peerings, 'partition', partitionKey(name))),
      ],
      filtered: scope.filtered || visible.length < all.length,
      *longBody() {
        return { json: yield* jsonList(visible, (one) => JSON.stringify(one)) };
      },
    };
  };
}

function importedInto(reader: Reader, partition: string): readonly Imported[] {
  const imported = reader
    .list(peerings, 'partition', partitionKey(partition))
    .flatMap(({ row }) =>
      foundServices(row).map((Service) => ({ Service, Partition: partition, SourcePeer: row.name })),
    );
  return imported.sort(
    (a, b) =>
      compare(nameKey(a.Service), nameKey(b.Service)) ||
      compare(nameEntry(partition, a.SourcePeer), nameEntry(partition, b.SourcePeer)),
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
