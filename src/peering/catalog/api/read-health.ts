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
import { jsonList } from '../../../http/v1/json-answer.ts';
import type { Snapshot } from '../../../state/memory/snapshot.ts';
import type { State } from '../../../state/state.ts';
import { type InstancesResult, queryNode, queryPartition, queryService } from '../query/catalog-queries.ts';
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
import type { VisibleResult } from '../query/visibility.ts';
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
    const { instances, watched, alsoWake, answeredBy } =
      failover === undefined
        ? { ...queryService(state, snapshot, { partition, peer }, name), answeredBy: undefined }
        : withFailover(state, snapshot, partition, name, { ...filter, failover });
    return {
      ...withWakeTopics(waitOptionsOf(caller), alsoWake),
      watched,
      shareKey: `${partition}\0${key}`,
      headers: answeredBy === undefined ? [] : [ANSWERED_BY.name, answeredBy],
      body: () => {
        // The instances of a failover are selected already.
        const selected = failover === undefined ? selectTagged(instances, filter) : instances;
        return jsonList(onlyPassing(selected, passing), healthJsonText);
      },
    };
  };
}

interface FailoverResult extends InstancesResult {
  readonly answeredBy?: string;
}

const selectTagged = (instances: readonly ResolvedInstance[], filter: InstanceFilter): readonly ResolvedInstance[] =>
  selectInstances(filterByTags(instances, filter.tags), filter, healthToJson);

/**
 * Returns the local instances if one of them is passing, otherwise the instances of the first peer with a passing
 * instance. If no peer has a passing instance, returns the local instances.
 */
function withFailover(
  state: State,
  snapshot: Snapshot,
  partition: string,
  name: string,
  filter: InstanceFilter & { readonly failover: readonly string[] },
): FailoverResult {
  // Watches every peer, because a change of any of them can change which one answers.
  const sources = [undefined, ...filter.failover].map((peer) => {
    const source = queryService(state, snapshot, { partition, peer }, name);
    return { ...source, peer, instances: selectTagged(source.instances, filter) };
  });
  const [local] = sources;
  const answer = sources.find(({ instances }) => instances.some(({ status }) => status === 'passing')) ?? local;
  return {
    instances: answer?.instances ?? [],
    answeredBy: answer?.instances[0]?.peer ?? answer?.peer ?? 'local',
    watched: sources.flatMap(({ watched }) => watched),
    alsoWake: sources.flatMap(({ alsoWake }) => alsoWake),
  };
}

const onlyPassing = (instances: readonly ResolvedInstance[], passing: boolean): readonly ResolvedInstance[] =>
  passing ? instances.filter(({ status }) => status === 'passing') : instances;

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
    body: (visible) => jsonList(selectChecks(checksOf(visible), selection), checkJsonText),
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
    body: (visible) => {
      const all = checksOf(visible);
      const checks = state === 'any' ? all : all.filter(({ check }) => check.status === state);
      return jsonList(selectChecks(checks, selection), checkJsonText);
    },
  });
}

const selectChecks = (checks: readonly ResolvedCheck[], selection: Selection): readonly ResolvedCheck[] =>
  filterItems(
    onSelectedNodes(checks, selection, ({ node }) => node),
    selection.filter,
    resolvedCheckToJson,
  );

const checksOf = ({ nodes, instances }: VisibleResult): ResolvedCheck[] => [
  ...nodes.flatMap(checksOfNode),
  ...sortInstances([...instances]).flatMap(checksOfService),
];
