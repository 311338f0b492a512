/** `GET /v1/peerings`: the records of a partition, or of all, that the caller may read, by name; can wait. */
import { type Asked, locate, waitingAs, watchedGrants } from '../../credentials/operation.ts';
import { partitionKey, partitions } from '../../credentials/partition.ts';
import { ALL_PARTITIONS } from '../../credentials/request-partition.ts';
import type { Evaluate } from '../../http/blocking/reads.ts';
import { jsonList } from '../../http/v1/json-answer.ts';
import type { Stored } from '../../state/table.ts';
import { visiblePeerings } from '../find/visible-peerings.ts';
import type { PeeringService } from '../peering-context.ts';
import { type Peering, peerings } from '../record/record.ts';
import { type RecordTexts, shownState } from '../record/record-to-json.ts';
import type { ListPage } from './list-page.ts';

/** The list; one text for everybody who sees the same of one snapshot. */
export function listPeerings(service: PeeringService, texts: RecordTexts, asked: Asked, page: ListPage): Evaluate {
  const { credentials, streams, consul } = service;
  const { state } = credentials;
  const pageKey = JSON.stringify(page);
  const isWhole = page.after === undefined && page.limit === undefined;
  return (snapshot) => {
    const { caller, partition } = locate(credentials, snapshot, asked, true);
    const visible = visiblePeerings(snapshot, caller, partition);
    // With other grants the list is another one.
    const watched = watchedGrants(credentials, caller).slice();
    if (partition === ALL_PARTITIONS) watched.push(state.watchEntry(partitions, 'all', ''));
    for (const name of visible.partitions) watched.push(state.watchEntry(peerings, 'partition', partitionKey(name)));
    return {
      ...waitingAs(caller),
      watched,
      filtered: visible.filtered,
      shareKey: isWhole ? `${visible.key}\0${pageKey}\0${streams.tick}` : undefined,
      body: () =>
        jsonList(
          pageOf(visible.peerings, page, consul),
          texts.listed,
          'ask for fewer with limit, and go on with after',
        ),
    };
  };
}

function pageOf(all: readonly Stored<Peering>[], page: ListPage, consul: boolean): readonly Stored<Peering>[] {
  const { state, namePrefix, after, limit } = page;
  const wanted = all.filter(
    ({ row }) =>
      (state === undefined || shownState(row, consul) === state) &&
      row.name.toLowerCase().startsWith(namePrefix) &&
      (after === undefined || isAfter(row, after)),
  );
  return limit === undefined ? wanted : wanted.slice(0, limit);
}

function isAfter({ name, partition }: Stored<Peering>['row'], after: NonNullable<ListPage['after']>): boolean {
  const key = name.toLowerCase();
  if (key !== after.name) return key > after.name;
  return after.partition !== undefined && partitionKey(partition) > after.partition;
}
