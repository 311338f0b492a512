/**
 * Resolution of parsed names. Names that the caller may not read do not exist for it, and neither do services without a
 * usable instance.
 *
 * Reads are stale: they use the snapshot of this server without a barrier, so names resolve while the store is
 * unavailable.
 */

import { permits } from '../../credentials/acl-token.ts';
import { authenticate, type Caller } from '../../credentials/caller.ts';
import { filterInSlices, type Steps, visitInSlices } from '../../state/clock/slices.ts';
import { LIST_ELEMENT_BYTES } from '../../state/limits.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import { type CatalogContent, queryNode, queryPartition, queryService } from '../catalog/query/catalog-queries.ts';
import type { ResolvedInstance, ResolvedNode } from '../catalog/query/resolved-instances.ts';
import { filterVisible } from '../catalog/query/visibility.ts';
import { type Host, readHost } from './host-name.ts';
import type { ParsedName } from './name.ts';
import type { Zone } from './zone.ts';

export type Resolution =
  | { readonly kind: 'nothing' }
  /** The name exists and has no records. */
  | { readonly kind: 'empty-non-terminal' }
  | { readonly kind: 'apex' }
  | { readonly kind: 'host'; readonly host: Host | undefined }
  /** At least one. */
  | { readonly kind: 'instances'; readonly instances: readonly ResolvedInstance[] };

const NOTHING: Resolution = { kind: 'nothing' };

/** Uses the token's partition. @throws ServiceError `permission-denied` when the token is unknown or has expired */
export function* resolveName(zone: Zone, snapshot: Snapshot, name: ParsedName): Steps<Resolution> {
  switch (name.kind) {
    case 'apex':
    case 'empty-non-terminal':
    case 'nothing':
      return name;
    case 'address':
      return { kind: 'host', host: readHost(name.address) };
    case 'node':
      return yield* findNode(zone, snapshot, name);
    case 'service':
      return yield* findService(zone, snapshot, name);
  }
}

const callerOf = ({ credentials, secretHash }: Zone, snapshot: Snapshot): Caller =>
  authenticate(snapshot, secretHash, credentials.policy);

type ServiceName = Extract<ParsedName, { readonly kind: 'service' }>;

function* findService(zone: Zone, snapshot: Snapshot, { peer, service, tag }: ServiceName): Steps<Resolution> {
  const { partition, grants } = callerOf(zone, snapshot);
  if (!permits(grants, { resource: 'services', access: 'read', partition, name: service })) return NOTHING;
  const { instances } = yield* queryService(zone.credentials.state, snapshot, { partition, peer }, service).content();
  const usable = yield* filterInSlices(
    instances,
    (found) => isUsable(found) && (tag === undefined || hasTag(found, tag)),
  );
  return usable.length === 0 ? NOTHING : { kind: 'instances', instances: usable };
}

const isUsable = ({ status }: ResolvedInstance): boolean => status === 'passing' || status === 'warning';

/** @param tag in lower case, as in a parsed name */
const hasTag = ({ instance }: ResolvedInstance, tag: string): boolean =>
  instance.service.tags.some((has) => has.toLowerCase() === tag);

type NodeName = Extract<ParsedName, { readonly kind: 'node' }>;

function* findNode(zone: Zone, snapshot: Snapshot, { peer, node }: NodeName): Steps<Resolution> {
  const { state } = zone.credentials;
  const caller = callerOf(zone, snapshot);
  const { partition } = caller;
  const content =
    peer === undefined
      ? yield* queryNode(state, snapshot, { partition, peer }, node).content()
      : (yield* nodesOfPeer(zone, snapshot, { partition, peer })).get(node);
  const [seen] = content === undefined ? [] : (yield* filterVisible(caller, partition, content)).nodes;
  return seen === undefined ? NOTHING : { kind: 'host', host: readHost(seen.node.address) };
}

interface PeerScope {
  readonly partition: string;
  readonly peer: string;
}

/** Returns the nodes of a peer with their services, by name in lower case. Computed once per snapshot. */
function nodesOfPeer(zone: Zone, snapshot: Snapshot, ofPeer: PeerScope): Steps<ReadonlyMap<string, CatalogContent>> {
  const { partition, peer } = ofPeer;
  const make = function* (): Steps<ReadonlyMap<string, CatalogContent>> {
    const whole = yield* queryPartition(zone.credentials.state, snapshot, ofPeer).content();
    const byNode = new Map<string, { nodes: ResolvedNode[]; instances: ResolvedInstance[] }>();
    yield* visitInSlices(whole.nodes, (node) => void byNode.set(nodeKey(node), { nodes: [node], instances: [] }));
    yield* visitInSlices(whole.instances, (instance) => {
      byNode.get(nodeKey(instance.resolvedNode))?.instances.push(instance);
    });
    return byNode;
  };
  const key = `dns nodes\0${partition.toLowerCase()}\0${peer}`;
  // A map's entry, a source and a list of one node for each.
  return snapshot.memoizeInSlices(key, make, (nodes) => nodes.size * 3 * LIST_ELEMENT_BYTES);
}

const nodeKey = ({ node }: ResolvedNode): string => node.name.toLowerCase();
