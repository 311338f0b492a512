/** `GET /v1/catalog/…`: services and nodes, of this cluster or of what came from a peer; can wait. */

import { authorize } from '../../../credentials/caller.ts';
import { type Asked, type Credentials, locate, waitingAs } from '../../../credentials/operation.ts';
import { existingPartition } from '../../../credentials/request-partition.ts';
import type { Evaluate, ReadResult } from '../../../http/blocking/reads.ts';
import { JsonText, jsonList } from '../../../http/v1/json-answer.ts';
import type { Snapshot } from '../../../state/memory/snapshot.ts';
import { spanOf, watchedSpan } from '../../find/list-scope.ts';
import { type NodeSource, nodeSource, type Sought, serviceSource, wholeSource } from '../query/catalog-queries.ts';
import { catalogServiceText, nodeText, serviceText } from '../query/catalog-to-json.ts';
import type { FoundInstance } from '../query/resolved-instances.ts';
import { joinVisible, type Visible, visibleOf } from '../query/visibility.ts';
import type { WantedInstances } from './read-parameters.ts';

/** `GET /v1/catalog/services`: the tags of each service that the caller may read; in all partitions, those of all. */
export function listServices(credentials: Credentials, asked: Asked, peer: string | undefined): Evaluate {
  return readVisible(credentials, asked, peer, {
    source: (snapshot, sought) => wholeSource(credentials.state, snapshot, sought),
    key: `${peer ?? ''}`,
    spans: true,
    body: ({ instances }) => new JsonText(JSON.stringify(tagsByName(instances))),
  });
}

/** `GET /v1/catalog/nodes`. */
export function listNodes(credentials: Credentials, asked: Asked, peer: string | undefined): Evaluate {
  return readVisible(credentials, asked, peer, {
    source: (snapshot, sought) => wholeSource(credentials.state, snapshot, sought),
    key: `${peer ?? ''}`,
    spans: true,
    body: ({ nodes }) => jsonList(nodes, nodeText),
  });
}

/** `GET /v1/catalog/node/:name`: null when there is none, or none that the caller may see. */
export function readNode(credentials: Credentials, asked: Asked, peer: string | undefined, name: string): Evaluate {
  return readVisible(credentials, asked, peer, {
    source: (snapshot, sought) => nodeSource(credentials.state, snapshot, sought, name),
    key: `${peer ?? ''}\0${name.toLowerCase()}`,
    ofNode: true,
    body: ({ nodes: [node], instances }) => {
      if (node === undefined) return null;
      const services = instances.map((found) => `${JSON.stringify(found.instance.service.id)}:${serviceText(found)}`);
      return new JsonText(`{"Node":${nodeText(node)},"Services":{${services.join(',')}}}`);
    },
  });
}

/** `GET /v1/catalog/service/:name`: its instances, each with its node. */
export function readService(credentials: Credentials, asked: Asked, wanted: WantedInstances, name: string): Evaluate {
  const { state } = credentials;
  const tags = wanted.tags.join('\0');
  return (snapshot) => {
    const { caller, partition } = locate(credentials, snapshot, asked);
    authorize(caller, { resource: 'services', access: 'read', partition, name });
    const sought = { partition: existingPartition(snapshot, partition), peer: wanted.peer };
    const { instances, watched, alsoWake } = serviceSource(state, snapshot, sought, name);
    return {
      ...waiting(waitingAs(caller), alsoWake),
      watched,
      shareKey: `${sought.partition}\0${name.toLowerCase()}\0${wanted.peer ?? ''}\0${tags}`,
      body: () => jsonList(tagged(instances, wanted.tags), catalogServiceText),
    };
  };
}

/** What a read of several things at once does. */
interface VisibleRead {
  readonly source: (snapshot: Snapshot, sought: Sought) => NodeSource;
  /** The same for everybody who asks for the same. */
  readonly key: string;
  readonly body: (visible: Visible) => unknown;
  /** It is about one node: whether that is hidden or is not there makes no difference. */
  readonly ofNode?: true;
  /** It can be about all partitions where the caller may read something. */
  readonly spans?: true;
}

/** A read of what the caller may see of a source; the rest is left out. */
export function readVisible(
  credentials: Credentials,
  asked: Asked,
  peer: string | undefined,
  { source, key, body, ofNode, spans }: VisibleRead,
): Evaluate {
  return (snapshot) => {
    const { caller, partition: named } = locate(credentials, snapshot, asked, spans);
    // Whoever may read nothing learns nothing, not even which partitions there are.
    const { partitions, filtered } = spanOf(snapshot, caller, named, 'services');
    const found = partitions.map((partition) => ({ partition, source: source(snapshot, { partition, peer }) }));
    const visible = joinVisible(found.map((one) => visibleOf(caller, one.partition, one.source)));
    return {
      ...waiting(
        waitingAs(caller),
        found.flatMap((one) => one.source.alsoWake),
      ),
      watched: [...found.flatMap((one) => one.source.watched), ...watchedSpan(credentials, caller, named)],
      filtered: filtered || visible.filtered || (ofNode === true && visible.key !== '' && visible.nodes.length === 0),
      shareKey: `${partitions.join('/')}\0${key}\0${visible.key}`,
      body: () => body(visible),
    };
  };
}

type WaitingAs = Pick<ReadResult, 'alsoWake' | 'expiresAtMs' | 'waiterKey'>;

/** Both what the caller and what the answer depends on. */
export function waiting(as: WaitingAs, alsoWake: NonNullable<ReadResult['alsoWake']>): WaitingAs {
  return alsoWake.length === 0 ? as : { ...as, alsoWake: [...(as.alsoWake ?? []), ...alsoWake] };
}

/** The instances that have every one of the tags. @param tags in lower case */
export function tagged(instances: readonly FoundInstance[], tags: readonly string[]): readonly FoundInstance[] {
  if (tags.length === 0) return instances;
  return instances.filter(({ instance }) => {
    const own = instance.service.tags.map((tag) => tag.toLowerCase());
    return tags.every((tag) => own.includes(tag));
  });
}

function tagsByName(instances: readonly FoundInstance[]): Record<string, string[]> {
  const byName = new Map<string, { readonly name: string; readonly tags: Set<string> }>();
  for (const { instance } of instances) {
    const { name, tags } = instance.service;
    const key = name.toLowerCase();
    const known = byName.get(key) ?? { name, tags: new Set<string>() };
    byName.set(key, known);
    for (const tag of tags) known.tags.add(tag);
  }
  const sorted = [...byName].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([, { name, tags }]) => [name, [...tags].sort()]));
}
