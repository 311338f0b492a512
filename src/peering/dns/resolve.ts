/**
 * What stands behind a name, as far as the caller may read it. What it may not read does not exist for it, and neither
 * does a service of which nothing can be used.
 *
 * The current snapshot answers, without asking the store whether there is a newer one: names are found while the store
 * cannot be reached, and at most as late as this server learns of commits.
 */
import { authenticate, type Caller } from '../../credentials/caller.ts';
import { permits } from '../../credentials/grant.ts';
import { MEMO_ENTRY_BYTES } from '../../state/limits.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import { type NodeSource, nodeSource, serviceSource, wholeSource } from '../catalog/query/catalog-queries.ts';
import type { FoundInstance, FoundNode } from '../catalog/query/resolved-instances.ts';
import { visibleOf } from '../catalog/query/visibility.ts';
import { type Host, readHost } from './host-name.ts';
import type { Sought } from './name.ts';
import type { Zone } from './zone.ts';

export type Found =
  | { readonly kind: 'nothing' }
  /** The name is there and has no records. */
  | { readonly kind: 'between' }
  | { readonly kind: 'apex' }
  | { readonly kind: 'host'; readonly host: Host | undefined }
  /** At least one. */
  | { readonly kind: 'instances'; readonly instances: readonly FoundInstance[] };

const NOTHING: Found = { kind: 'nothing' };

/** Looks in the partition of the token. @throws ServiceError `permission-denied` for a token that is unknown or has expired */
export function find(zone: Zone, snapshot: Snapshot, sought: Sought): Found {
  switch (sought.kind) {
    case 'apex':
    case 'between':
    case 'nothing':
      return sought;
    case 'address':
      return { kind: 'host', host: readHost(sought.address) };
    case 'node':
      return findNode(zone, snapshot, sought);
    case 'service':
      return findService(zone, snapshot, sought);
  }
}

const callerOf = ({ credentials, secretHash }: Zone, snapshot: Snapshot): Caller =>
  authenticate(snapshot, secretHash, credentials.policy);

type SoughtService = Extract<Sought, { readonly kind: 'service' }>;

function findService(zone: Zone, snapshot: Snapshot, { peer, service, tag }: SoughtService): Found {
  const { partition, grants } = callerOf(zone, snapshot);
  if (!permits(grants, { resource: 'services', access: 'read', partition, name: service })) return NOTHING;
  const { instances } = serviceSource(zone.credentials.state, snapshot, { partition, peer }, service);
  const usable = instances.filter((found) => isUsable(found) && (tag === undefined || hasTag(found, tag)));
  return usable.length === 0 ? NOTHING : { kind: 'instances', instances: usable };
}

const isUsable = ({ status }: FoundInstance): boolean => status === 'passing' || status === 'warning';

/** @param tag in lower case: names in the DNS have none */
const hasTag = ({ instance }: FoundInstance, tag: string): boolean =>
  instance.service.tags.some((has) => has.toLowerCase() === tag);

type SoughtNode = Extract<Sought, { readonly kind: 'node' }>;

function findNode(zone: Zone, snapshot: Snapshot, { peer, node }: SoughtNode): Found {
  const { state } = zone.credentials;
  const caller = callerOf(zone, snapshot);
  const { partition } = caller;
  const source =
    peer === undefined
      ? nodeSource(state, snapshot, { partition, peer }, node)
      : nodesOfPeer(zone, snapshot, { partition, peer }).get(node);
  const [seen] = source === undefined ? [] : visibleOf(caller, partition, source).nodes;
  return seen === undefined ? NOTHING : { kind: 'host', host: readHost(seen.node.address) };
}

interface OfPeer {
  readonly partition: string;
  readonly peer: string;
}

/** The nodes of a peer with what is on them, by name in lower case; gathered once a snapshot. */
function nodesOfPeer(zone: Zone, snapshot: Snapshot, ofPeer: OfPeer): ReadonlyMap<string, NodeSource> {
  const { partition, peer } = ofPeer;
  const make = (): ReadonlyMap<string, NodeSource> => {
    const whole = wholeSource(zone.credentials.state, snapshot, ofPeer);
    const instances = Map.groupBy(whole.instances, ({ on }) => keyOf(on));
    return new Map(
      whole.nodes.map((node) => {
        const key = keyOf(node);
        return [key, { ...whole, nodes: [node], instances: instances.get(key) ?? [] }];
      }),
    );
  };
  const key = `dns nodes\0${partition.toLowerCase()}\0${peer}`;
  // A map's entry, a source and a list of one node for each.
  return snapshot.memo(key, make, (nodes) => nodes.size * 3 * MEMO_ENTRY_BYTES);
}

const keyOf = ({ node }: FoundNode): string => node.name.toLowerCase();
