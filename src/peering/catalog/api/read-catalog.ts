/** `GET /v1/catalog/…`: reads of services and nodes, local or imported. All support blocking queries. */
import {
  authorize,
  type Credentials,
  type RequestContext,
  resolveCaller,
  waitOptionsOf,
} from '../../../credentials/caller.ts';
import { existingPartition } from '../../../credentials/partition.ts';
import type { Evaluate, ReadResult } from '../../../http/blocking/blocking-query.ts';
import { filterItems } from '../../../http/filter/filter-parameter.ts';
import { JsonText, jsonList, jsonObject } from '../../../http/v1/json-answer.ts';
import { filterInSlices, type Steps, sortInSlices, visitInSlices } from '../../../state/clock/slices.ts';
import type { Snapshot } from '../../../state/memory/snapshot.ts';
import { resolveListScope, watchedScope } from '../../find/list-scope.ts';
import {
  type CatalogQuery,
  type CatalogSource,
  queryNode,
  queryPartition,
  queryService,
} from '../query/catalog-queries.ts';
import {
  catalogServiceJsonText,
  catalogServiceToJson,
  nodeJsonText,
  nodeToJson,
  serviceJsonText,
  serviceToJson,
} from '../query/catalog-to-json.ts';
import type { ResolvedInstance } from '../query/resolved-instances.ts';
import { filterVisible, mergeVisible, type VisibleContent, visibilityKey } from '../query/visibility.ts';
import { type InstanceFilter, onSelectedNodes, type Selection, selectionKey } from './read-parameters.ts';

/** `GET /v1/catalog/services`: the tags of each visible service. Merges the tags of several partitions ([SVC-29]). */
export function listServices(credentials: Credentials, context: RequestContext, selection: Selection): Evaluate {
  return readVisible(credentials, context, selection.peer, {
    source: (snapshot, query) => queryPartition(credentials.state, snapshot, query),
    key: selectionKey(selection),
    allowsAllPartitions: true,
    *body({ instances }) {
      return yield* tagsByName(yield* selectInstances(instances, selection, catalogServiceToJson));
    },
  });
}

/** `GET /v1/catalog/nodes`. */
export function listNodes(credentials: Credentials, context: RequestContext, selection: Selection): Evaluate {
  return readVisible(credentials, context, selection.peer, {
    source: (snapshot, query) => queryPartition(credentials.state, snapshot, query),
    key: selectionKey(selection),
    allowsAllPartitions: true,
    *body({ nodes }) {
      const selected = yield* onSelectedNodes(nodes, selection, ({ node }) => node);
      return yield* jsonList(yield* filterItems(selected, selection.filter, nodeToJson), nodeJsonText);
    },
  });
}

const NULL = new JsonText('null');

/** `GET /v1/catalog/node/:name`: `null` if the node is missing or the caller may not see it ([SVC-32]). */
export function readNode(
  credentials: Credentials,
  context: RequestContext,
  selection: Selection,
  name: string,
): Evaluate {
  return readVisible(credentials, context, selection.peer, {
    source: (snapshot, query) => queryNode(credentials.state, snapshot, query, name),
    key: `${name.toLowerCase()}\0${selectionKey(selection)}`,
    isSingleNode: true,
    *body({ nodes: [node], instances }) {
      if (node === undefined) return NULL;
      const services = yield* servicesById(yield* filterItems(instances, selection.filter, serviceToJson));
      return new JsonText(`{"Node":${nodeJsonText(node)},"Services":${services.text}}`);
    },
  });
}

/** Returns services by ID. */
export const servicesById = (instances: readonly ResolvedInstance[]): Steps<JsonText> =>
  jsonObject(instances, (resolved) => [resolved.instance.service.id, serviceJsonText(resolved)]);

/** `GET /v1/catalog/service/:name`: the instances, each with its node ([SVC-30]). */
export function listServiceInstances(
  credentials: Credentials,
  context: RequestContext,
  filter: InstanceFilter,
  name: string,
): Evaluate {
  const { state } = credentials;
  const key = `${filter.tags.join('\0')}\0\0${selectionKey(filter)}`;
  return (snapshot) => {
    const { caller, partition } = resolveCaller(credentials, snapshot, context);
    authorize(caller, { resource: 'services', access: 'read', partition, name });
    const query = { partition: existingPartition(snapshot, partition), peer: filter.peer };
    const { watched, alsoWake, content } = queryService(state, snapshot, query, name);
    return {
      ...withWakeTopics(waitOptionsOf(caller), alsoWake),
      watched,
      shareKey: `${query.partition}\0${name.toLowerCase()}\0${key}`,
      *longBody() {
        const { instances } = yield* content();
        const tagged = yield* filterByTags(instances, filter.tags);
        const selected = yield* selectInstances(tagged, filter, catalogServiceToJson);
        return { json: yield* jsonList(selected, catalogServiceJsonText) };
      },
    };
  };
}

interface CatalogRead {
  readonly source: (snapshot: Snapshot, query: CatalogQuery) => CatalogSource;
  /** Equal keys mean equal requests. */
  readonly key: string;
  readonly body: (visible: VisibleContent) => Steps<JsonText>;
  /** Whether the read is of one node. The response must not reveal whether the node is hidden or missing. */
  readonly isSingleNode?: true;
  /** Whether the endpoint accepts `partition=*` ([ACL-51]). */
  readonly allowsAllPartitions?: true;
}

export function readVisible(
  credentials: Credentials,
  context: RequestContext,
  peer: string | undefined,
  { source, key, body, isSingleNode, allowsAllPartitions }: CatalogRead,
): Evaluate {
  return (snapshot) => {
    const { caller, partition: namedPartition } = resolveCaller(credentials, snapshot, context, allowsAllPartitions);
    // Checks the grants first, so that a caller without any cannot probe which partitions exist.
    const { partitions, filtered } = resolveListScope(snapshot, caller, namedPartition, 'services');
    const sources = partitions.map((partition) => ({ partition, source: source(snapshot, { partition, peer }) }));
    const visibility = partitions.map((partition) => visibilityKey(caller, partition)).join('/');
    return {
      ...withWakeTopics(
        waitOptionsOf(caller),
        sources.flatMap((one) => one.source.alsoWake),
      ),
      watched: [...sources.flatMap((one) => one.source.watched), ...watchedScope(credentials, caller, namedPartition)],
      filtered,
      shareKey: `${partitions.join('/')}\0${key}\0${visibility}`,
      *longBody() {
        const parts: VisibleContent[] = [];
        for (const one of sources) {
          parts.push(yield* filterVisible(caller, one.partition, yield* one.source.content()));
          yield;
        }
        const visible = mergeVisible(parts);
        const mayBeHidden = isSingleNode === true && visibility !== '' && visible.nodes.length === 0;
        return { json: yield* body(visible), filtered: visible.filtered || mayBeHidden };
      },
    };
  };
}

type WakeOptions = Pick<ReadResult, 'alsoWake' | 'expiresAtMs' | 'waiter'>;

/** Adds the topics that wake the query to those of the caller's token. */
export function withWakeTopics(as: WakeOptions, alsoWake: NonNullable<ReadResult['alsoWake']>): WakeOptions {
  return alsoWake.length === 0 ? as : { ...as, alsoWake: [...(as.alsoWake ?? []), ...alsoWake] };
}

/** Returns the instances that have every tag ([SVC-38]). @param tags in lower case */
export function* filterByTags(
  instances: readonly ResolvedInstance[],
  tags: readonly string[],
): Steps<readonly ResolvedInstance[]> {
  if (tags.length === 0) return instances;
  return yield* filterInSlices(instances, ({ instance }) => {
    const own = instance.service.tags.map((tag) => tag.toLowerCase());
    return tags.every((tag) => own.includes(tag));
  });
}

/** Returns the instances that have the node metadata and match the filter. `viewOf` returns the form to filter. */
export function* selectInstances(
  instances: readonly ResolvedInstance[],
  selection: Selection,
  viewOf: (resolved: ResolvedInstance) => object,
): Steps<readonly ResolvedInstance[]> {
  const onNodes = yield* onSelectedNodes(instances, selection, ({ instance }) => instance.node);
  return yield* filterItems(onNodes, selection.filter, viewOf);
}

function* tagsByName(instances: readonly ResolvedInstance[]): Steps<JsonText> {
  const byName = new Map<string, { readonly name: string; readonly tags: Set<string> }>();
  yield* visitInSlices(instances, ({ instance }) => {
    const { name, tags } = instance.service;
    const key = name.toLowerCase();
    const known = byName.get(key) ?? { name, tags: new Set<string>() };
    byName.set(key, known);
    for (const tag of tags) known.tags.add(tag);
  });
  const sorted = yield* sortInSlices([...byName], ([a], [b]) => (a < b ? -1 : 1));
  return yield* jsonObject(sorted, ([, { name, tags }]) => [name, JSON.stringify([...tags].sort())]);
}
