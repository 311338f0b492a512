/** `GET /v1/config/:kind`: the entries of a kind that the caller may read, in a partition or in all; can wait. */
import { permits } from '../../../credentials/grant.ts';
import { type Asked, type Credentials, locate, waitingAs } from '../../../credentials/operation.ts';
import { partitionKey } from '../../../credentials/partition.ts';
import type { Evaluate } from '../../../http/blocking/reads.ts';
import { spanOf, watchedSpan } from '../../find/list-scope.ts';
import { configEntries, type Kind, kindEntry } from '../config-entry.ts';
import { showEntry } from '../entry-to-json.ts';

/** By partition, then by name. */
export function listEntries(credentials: Credentials, asked: Asked, kind: Kind): Evaluate {
  const { state } = credentials;
  return (snapshot) => {
    const { caller, partition } = locate(credentials, snapshot, asked, true);
    const span = spanOf(snapshot, caller, partition, 'config');
    const keys = span.partitions.map(partitionKey);
    const all = keys.flatMap((key) => snapshot.list(configEntries, 'kind', kindEntry(key, kind)));
    const visible = all.filter(({ row }) =>
      permits(caller.grants, { resource: 'config', access: 'read', partition: row.partition, name: row.name }),
    );
    return {
      ...waitingAs(caller),
      watched: [
        ...watchedSpan(credentials, caller, partition),
        ...keys.map((key) => state.watchEntry(configEntries, 'kind', kindEntry(key, kind))),
      ],
      filtered: span.filtered || visible.length < all.length,
      body: () => visible.map(showEntry),
    };
  };
}
