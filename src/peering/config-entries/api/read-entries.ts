/** `GET /v1/config/:kind/:name` and `GET /v1/config/:kind`: read one entry, or those of a kind. */

import { permits } from '../../../credentials/acl-token.ts';
import { type Credentials, type RequestContext, resolveCaller, waitOptionsOf } from '../../../credentials/caller.ts';
import { partitionKey } from '../../../credentials/partition.ts';
import type { Evaluate } from '../../../http/blocking/blocking-query.ts';
import type { Filter } from '../../../http/filter/compile-filter.ts';
import { filterItems } from '../../../http/filter/filter-parameter.ts';
import { jsonList } from '../../../http/v1/json-answer.ts';
import { mapInSlices } from '../../../state/clock/slices.ts';
import { resolveListScope, watchedScope } from '../../find/list-scope.ts';
import { configEntries, type Kind, kindEntry } from '../config-entry.ts';
import { entryToJson } from '../entry-to-json.ts';
import { entryNotFound, findEntry } from './find-entry.ts';

/** Reads one entry. A blocking query can wait for a missing one. */
export function readEntry(
  credentials: Credentials,
  context: RequestContext,
  { kind, name }: { readonly kind: Kind; readonly name: string },
): Evaluate {
  const { state } = credentials;
  return (snapshot) => {
    const { caller, key, stored } = findEntry(credentials, snapshot, { context, kind, name, access: 'read' });
    const watched = state.watchRow(configEntries, key);
    if (stored === undefined) return { ...waitOptionsOf(caller), watched, error: entryNotFound(kind, name) };
    return { ...waitOptionsOf(caller), watched, body: () => entryToJson(stored) };
  };
}

/** Lists the entries that the caller may read and that match the filter, by partition, then by name. */
export function listEntries(
  credentials: Credentials,
  context: RequestContext,
  kind: Kind,
  filter: Filter | undefined,
): Evaluate {
  const { state } = credentials;
  return (snapshot) => {
    const { caller, partition } = resolveCaller(credentials, snapshot, context, true);
    const scope = resolveListScope(snapshot, caller, partition, 'config');
    const keys = scope.partitions.map(partitionKey);
    const all = keys.flatMap((key) => snapshot.list(configEntries, 'kind', kindEntry(key, kind)));
    const visible = all.filter(({ row }) =>
      permits(caller.grants, { resource: 'config', access: 'read', partition: row.partition, name: row.name }),
    );
    return {
      ...waitOptionsOf(caller),
      watched: [
        ...watchedScope(credentials, caller, partition),
        ...keys.map((key) => state.watchEntry(configEntries, 'kind', kindEntry(key, kind))),
      ],
      filtered: scope.filtered || visible.length < all.length,
      *longBody() {
        const entries = yield* mapInSlices(visible, entryToJson);
        const selected = yield* filterItems(entries, filter, (entry) => entry);
        return { json: yield* jsonList(selected, (entry) => JSON.stringify(entry)) };
      },
    };
  };
}
