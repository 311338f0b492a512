/** `GET /v1/peerings`: the peerings that the caller may read ([PEER-20], [PEER-21]). A blocking query. */
import { Type } from 'typebox';
import { type RequestContext, resolveCaller, waitOptionsOf, watchOwnToken } from '../../credentials/caller.ts';
import { ALL_PARTITIONS, partitionKey, partitions } from '../../credentials/partition.ts';
import type { Evaluate } from '../../http/blocking/blocking-query.ts';
import type { Query } from '../../http/call.ts';
import { ServiceError } from '../../http/errors.ts';
import { countParameter, type Parameter, readCount } from '../../http/parameter.ts';
import { jsonList } from '../../http/v1/json-answer.ts';
import type { Stored } from '../../state/table.ts';
import { visiblePeerings } from '../find/visible-peerings.ts';
import type { PeeringService } from '../peering-context.ts';
import { type Peering, peerings } from '../record/record.ts';
import { CONSUL_STATES, type RecordJsonCache, STATES, stateToJson } from '../record/record-to-json.ts';

/** Lists peerings. Callers that see the same peerings of one snapshot share the result. */
export function listPeerings(
  service: PeeringService,
  records: RecordJsonCache,
  context: RequestContext,
  filter: ListFilter,
): Evaluate {
  const { credentials, streams, consul } = service;
  const { state } = credentials;
  const filterKey = JSON.stringify(filter);
  const isWhole = filter.after === undefined && filter.limit === undefined;
  return (snapshot) => {
    const { caller, partition } = resolveCaller(credentials, snapshot, context, true);
    const visible = visiblePeerings(snapshot, caller, partition);
    // The list depends on the grants.
    const watched = watchOwnToken(credentials, caller).slice();
    if (partition === ALL_PARTITIONS) watched.push(state.watchEntry(partitions, 'all', ''));
    for (const name of visible.partitions) watched.push(state.watchEntry(peerings, 'partition', partitionKey(name)));
    return {
      ...waitOptionsOf(caller),
      watched,
      filtered: visible.filtered,
      shareKey: isWhole ? `${visible.key}\0${filterKey}\0${streams.tick}` : undefined,
      *longBody() {
        const selected = applyFilter(visible.peerings, filter, consul);
        const advice = 'ask for fewer with limit, and go on with after';
        return { json: yield* jsonList(selected, records.listed, advice) };
      },
    };
  };
}

function applyFilter(all: readonly Stored<Peering>[], filter: ListFilter, consul: boolean): readonly Stored<Peering>[] {
  const { state, namePrefix, after, limit } = filter;
  const matching = all.filter(
    ({ row }) =>
      (state === undefined || stateToJson(row, consul) === state) &&
      row.name.toLowerCase().startsWith(namePrefix) &&
      (after === undefined || isAfter(row, after)),
  );
  return limit === undefined ? matching : matching.slice(0, limit);
}

function isAfter({ name, partition }: Stored<Peering>['row'], after: NonNullable<ListFilter['after']>): boolean {
  const key = name.toLowerCase();
  if (key !== after.name) return key > after.name;
  return after.partition !== undefined && partitionKey(partition) > after.partition;
}

const LIMIT = countParameter('limit', 'The maximum number of peerings.');

const NAME_PREFIX: Parameter = {
  name: 'name-prefix',
  description: 'Only peerings whose name starts with this prefix, without regard to case.',
  schema: Type.String(),
};

const AFTER: Parameter = {
  name: 'after',
  description:
    'Only peerings after this name. With partition=* a name can occur more than once; then use NAME/PARTITION.',
  schema: Type.String(),
};

const stateParameter = (consul: boolean): Parameter => ({
  name: 'state',
  description: 'Only peerings in this state.',
  schema: consul ? Type.Enum([...CONSUL_STATES]) : Type.Enum([...STATES]),
});

export const listParameters = (consul: boolean): readonly Parameter[] => [
  stateParameter(consul),
  NAME_PREFIX,
  AFTER,
  LIMIT,
];

/** The parsed query parameters. Names are in the form in which they are compared. */
export interface ListFilter {
  /** As in responses. */
  readonly state?: string;
  /** Empty matches every name. */
  readonly namePrefix: string;
  /** The last peering of the previous page. */
  readonly after?: { readonly name: string; readonly partition?: string };
  readonly limit?: number;
}

const NO_FILTER: ListFilter = { namePrefix: '' };

/** Parses the query parameters. Empty ones count as absent. @throws ServiceError `bad-request` */
export function readListFilter(query: Query, consul: boolean): ListFilter {
  if (query.size === 0) return NO_FILTER;
  const state = readState(query, consul);
  const [name = '', partition] = (query.get(AFTER.name) ?? '').split('/');
  const limit = readCount(query, LIMIT);
  return {
    ...(state !== undefined && { state }),
    namePrefix: (query.get(NAME_PREFIX.name) ?? '').toLowerCase(),
    ...(name !== '' && {
      after: { name: name.toLowerCase(), ...(partition && { partition: partitionKey(partition) }) },
    }),
    ...(limit !== undefined && { limit }),
  };
}

function readState(query: Query, consul: boolean): string | undefined {
  const value = query.get('state') ?? '';
  if (value === '') return undefined;
  const states: readonly string[] = consul ? CONSUL_STATES : STATES;
  const state = value.toUpperCase();
  if (states.includes(state)) return state;
  throw new ServiceError('bad-request', `Invalid state "${value}": want ${states.join(' or ')}`);
}
