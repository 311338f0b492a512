/** `GET /v1/health/…`: reads of instances with their checks, and of checks. All support blocking queries. */
import {
  authorize,
  type Credentials,
  type RequestContext,
  resolveCaller,
  waitOptionsOf,
} from '../../../credentials/caller.ts';
import { existingPartition } from '../../../credentials/partition.ts';
import type { Evaluate } from '../../../http/blocking/blocking-query.ts';
import { ServiceError } from '../../../http/errors.ts';
import { filterItems } from '../../../http/filter/filter-parameter.ts';
import { type JsonText, jsonList } from '../../../http/v1/json-answer.ts';
import { filterInSlices, type Steps, visitInSlices } from '../../../state/clock/slices.ts';
import { type CatalogSource, queryNode, queryPartition, queryService } from '../query/catalog-queries.ts';
import {
  checkJsonText,
  checksOfNode,
  checksOfService,
  healthJsonText,
  healthToJson,
  type ResolvedCheck,
  resolvedCheckToJson,
} from '../query/catalog-to-json.ts';
import { type ResolvedInstance, sortInstances } from '../query/resolved-instances.ts';
import type { VisibleContent } from '../query/visibility.ts';
import { CHECK_STATUSES } from '../tables/check.ts';
import { filterByTags, readVisible, selectInstances, withWakeTopics } from './read-catalog.ts';
import { ANSWERED_BY, type InstanceFilter, onSelectedNodes, type Selection, selectionKey } from './read-parameters.ts';

/** `GET /v1/health/service/:name` ([SVC-33]). */
export function readServiceHealth(
  credentials: Credentials,
  context: RequestContext,
  filter: InstanceFilter,
  name: string,
): Evaluate {
  const { state } = credentials;
  const { peer, passing, failover } = filter;
  const key = [name.toLowerCase(), passing, failover?.join() ?? '', ...filter.tags, '', selectionKey(filter)].join(
    '\0',
  );
  return (snapshot) => {
    const { caller, partition: namedPartition } = resolveCaller(credentials, snapshot, context);
    authorize(caller, { resource: 'services', access: 'read', partition: namedPartition, name });
    const partition = existingPartition(snapshot, namedPartition);
    const query = (from: string | undefined): CatalogSource =>
      queryService(state, snapshot, { partition, peer: from }, name);
    // Watches every peer of a failover, because a change of any of them can change which one answers.
    const sources = [peer, ...(failover ?? [])].map((from) => ({ ...query(from), peer: from }));
    const alsoWake = sources.flatMap((source) => source.alsoWake);
    return {
      ...withWakeTopics(waitOptionsOf(caller), alsoWake),
      watched: sources.flatMap(({ watched }) => watched),
      shareKey: `${partition}\0${key}`,
      *longBody() {
        const { instances, answeredBy } = yield* firstPassing(sources, filter);
        const selected = passing ? yield* filterInSlices(instances, isPassing) : instances;
        const headers = failover === undefined ? [] : [ANSWERED_BY.name, answeredBy];
        return { json: yield* jsonList(selected, healthJsonText), headers };
      },
    };
  };
}

const isPassing = ({ status }: ResolvedInstance): boolean => status === 'passing';

interface FailoverSource extends CatalogSource {
  readonly peer: string | undefined;
}

interface FailoverContent {
  readonly instances: readonly ResolvedInstance[];
  readonly answeredBy: string;
}

/**
 * Returns the selected instances of the first source with a passing one. If no source has any, returns those of the
 * first source.
 */
function* firstPassing(sources: readonly FailoverSource[], filter: InstanceFilter): Steps<FailoverContent> {
  let first: FailoverContent | undefined;
  for (const { peer, content } of sources) {
    const tagged = yield* filterByTags((yield* content()).instances, filter.tags);
    const instances = yield* selectInstances(tagged, filter, healthToJson);
    const found = { instances, answeredBy: instances[0]?.peer ?? peer ?? 'local' };
    if (sources.length === 1 || instances.some(isPassing)) return found;
    first ??= found;
    yield;
  }
  return first ?? { instances: [], answeredBy: 'local' };
}

/** `GET /v1/health/node/:name`: the checks of a node and of the services on it ([SVC-34]). */
export function readNodeHealth(
  credentials: Credentials,
  context: RequestContext,
  selection: Selection,
  name: string,
): Evaluate {
  return readVisible(credentials, context, selection.peer, {
    source: (snapshot, query) => queryNode(credentials.state, snapshot, query, name),
    key: `${name.toLowerCase()}\0${selectionKey(selection)}`,
    isSingleNode: true,
    *body(visible) {
      return yield* checksToJson(yield* checksOf(visible), selection);
    },
  });
}

const STATE_NAMES: readonly string[] = ['any', ...CHECK_STATUSES, 'maintenance'];

/** `GET /v1/health/state/:state`: the checks in a state ([SVC-35]). @throws ServiceError `bad-request` */
export function listChecks(
  credentials: Credentials,
  context: RequestContext,
  selection: Selection,
  state: string,
): Evaluate {
  if (!STATE_NAMES.includes(state)) {
    throw new ServiceError('bad-request', `Invalid state "${state}": want ${STATE_NAMES.join(' or ')}`);
  }
  return readVisible(credentials, context, selection.peer, {
    source: (snapshot, query) => queryPartition(credentials.state, snapshot, query),
    key: `${state}\0${selectionKey(selection)}`,
    allowsAllPartitions: true,
    *body(visible) {
      const all = yield* checksOf(visible);
      const checks = state === 'any' ? all : yield* filterInSlices(all, ({ check }) => check.status === state);
      return yield* checksToJson(checks, selection);
    },
  });
}

function* checksToJson(checks: readonly ResolvedCheck[], selection: Selection): Steps<JsonText> {
  const selected = yield* onSelectedNodes(checks, selection, ({ node }) => node);
  return yield* jsonList(yield* filterItems(selected, selection.filter, resolvedCheckToJson), checkJsonText);
}

function* checksOf({ nodes, instances }: VisibleContent): Steps<ResolvedCheck[]> {
  const checks: ResolvedCheck[] = [];
  yield* visitInSlices(nodes, (node) => void checks.push(...checksOfNode(node)));
  const sorted = yield* sortInstances([...instances]);
  yield* visitInSlices(sorted, (instance) => void checks.push(...checksOfService(instance)));
  return checks;
}
