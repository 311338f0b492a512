/** The query parameters of catalog reads. */
import { type TSchema, Type } from 'typebox';
import type { Call, Query } from '../../../http/call.ts';
import { ServiceError } from '../../../http/errors.ts';
import type { Filter } from '../../../http/filter/compile-filter.ts';
import { readFilter } from '../../../http/filter/filter-parameter.ts';
import { QUOTED_LENGTH_MAX } from '../../../http/limits.ts';
import type { Parameter } from '../../../http/parameter.ts';
import { filterInSlices, type Steps } from '../../../state/clock/slices.ts';
import { checkPeerName } from '../../record/record.ts';
import { FAILOVER_PEERS_MAX } from '../limits.ts';
import type { InstanceNode } from '../tables/instance.ts';

export const PEER: Parameter = {
  name: 'peer',
  description: 'Reads what this peer exports instead of this cluster.',
  schema: Type.String(),
};
/** Declared so that its refusal says where to make the change. */
export const PEER_OF_WRITE: Parameter = {
  name: PEER.name,
  description: 'Refused, because only the exporting cluster can change what a peer exports.',
  schema: Type.String(),
};
export const TAG: Parameter = {
  name: 'tag',
  description: 'Returns only instances with this tag, ignoring case. If repeated, only instances with all tags.',
  schema: Type.String(),
};
export const PASSING: Parameter = {
  name: 'passing',
  description: 'Returns only instances whose checks all pass. passing=false counts as absent.',
  schema: Type.String(),
  flag: true,
};
export const FAILOVER: Parameter = {
  name: 'failover',
  description:
    'Peers, separated by commas. If no local instance passes, returns those of the first peer with a passing instance. X-Service-Answered-By names it.',
  schema: Type.String(),
};

export const NODE_META: Parameter = {
  name: 'node-meta',
  description: 'Returns only what is on nodes with this metadata, as key:value. If repeated, with all of it.',
  schema: Type.String(),
};

/** The response header of requests with `failover` ([SVC-41]). */
export const ANSWERED_BY: Parameter = {
  name: 'X-Service-Answered-By',
  description: 'With failover: local, or the name of the peer with these instances.',
  schema: Type.String(),
};

/** The parameters with which every catalog read selects. */
export interface Selection {
  /** Spelled as in the request. Undefined: this cluster. */
  readonly peer: string | undefined;
  /** The metadata that nodes must have. */
  readonly nodeMeta: readonly (readonly [key: string, value: string])[];
  readonly filter: Filter | undefined;
}

export interface InstanceFilter extends Selection {
  /** In lower case. */
  readonly tags: readonly string[];
  readonly passing: boolean;
  /** The peers to fail over to, in order. Undefined: no failover. */
  readonly failover: readonly string[] | undefined;
}

const NO_SELECTION: Selection = { peer: undefined, nodeMeta: [], filter: undefined };
const NO_FILTER: InstanceFilter = { ...NO_SELECTION, tags: [], passing: false, failover: undefined };

/** Reads what a list of items of a schema selects. @throws ServiceError `bad-request` */
export function readSelection({ query, request }: Call, itemSchema: TSchema): Selection {
  if (query.size === 0) return NO_SELECTION;
  const nodeMeta = query.has(NODE_META.name) ? allValues(request.url ?? '', NODE_META.name).map(readNodeMeta) : [];
  return { peer: readPeer({ query }), nodeMeta, filter: readFilter(query, itemSchema) };
}

/** Equal keys mean equal selections. */
export const selectionKey = ({ peer, nodeMeta, filter }: Selection): string =>
  [peer ?? '', filter?.text ?? '', ...nodeMeta.flat()].join('\0');

/** Returns the nodes, or the instances on nodes, that have the metadata of the selection. */
export function* onSelectedNodes<Item>(
  items: readonly Item[],
  { nodeMeta }: Selection,
  nodeOf: (item: Item) => InstanceNode,
): Steps<readonly Item[]> {
  if (nodeMeta.length === 0) return items;
  return yield* filterInSlices(items, (item) => {
    const { meta } = nodeOf(item);
    return nodeMeta.every(([key, value]) => Object.hasOwn(meta, key) && meta[key] === value);
  });
}

/** A key without a value selects nodes with an empty value, as in Consul. */
function readNodeMeta(text: string): readonly [key: string, value: string] {
  const colon = text.indexOf(':');
  return colon === -1 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)];
}

/**
 * Reads the filter of instances with an item of `schema` each. Empty parameters count as absent ([V1-16]).
 * @throws ServiceError `bad-request`
 */
export function readInstanceFilter(call: Call, itemSchema: TSchema): InstanceFilter {
  const { query, request } = call;
  if (query.size === 0) return NO_FILTER;
  const selection = readSelection(call, itemSchema);
  const { peer } = selection;
  const failover = readFailover(query.get(FAILOVER.name) ?? '');
  if (peer !== undefined && failover !== undefined) {
    throw new ServiceError('bad-request', 'Cannot specify ?peer with ?failover, conflicting semantics.');
  }
  const tags = query.has(TAG.name) ? allValues(request.url ?? '', TAG.name).map((tag) => tag.toLowerCase()) : [];
  return { ...selection, tags, passing: readFlag(query, PASSING), failover };
}

/** Returns the peer in the query, if any. @throws ServiceError `bad-request` */
function readPeer({ query }: Pick<Call, 'query'>): string | undefined {
  const peer = query.get(PEER.name) ?? '';
  if (peer === '') return undefined;
  checkPeerName(peer);
  return peer;
}

/** Rejects a write with `peer` in the query ([SVC-21]). @throws ServiceError `bad-request` */
export function rejectPeerParameter({ query }: Pick<Call, 'query'>): void {
  const peer = query.get(PEER.name) ?? '';
  if (peer !== '') throw importedReadOnly(peer);
}

/** Returns the error for a write to imported services ([SVC-21]). */
export const importedReadOnly = (peer: string): ServiceError =>
  new ServiceError(
    'bad-request',
    `cannot change items of peer ${JSON.stringify(peer.slice(0, QUOTED_LENGTH_MAX))}: change them in the cluster that exports them`,
  );

function readFailover(text: string): readonly string[] | undefined {
  if (text === '') return undefined;
  const peers = text.split(',').map((peer) => peer.trim());
  if (peers.length > FAILOVER_PEERS_MAX) {
    throw new ServiceError('bad-request', `${peers.length} peers in failover, want at most ${FAILOVER_PEERS_MAX}`);
  }
  if (peers.includes('')) {
    const quoted = JSON.stringify(text.slice(0, QUOTED_LENGTH_MAX));
    throw new ServiceError('bad-request', `a name in ?failover=${quoted} is empty: want peers, separated by commas`);
  }
  for (const peer of peers) checkPeerName(peer);
  return peers;
}

/** Reads a flag that can be turned off: it is set without a value, with `true`, or with `1`. @throws ServiceError */
export function readFlag(query: Query, { name }: Parameter): boolean {
  const text = query.get(name);
  if (text === undefined) return false;
  const value = text.toLowerCase();
  if (value === '' || value === '1' || value === 'true') return true;
  if (value === '0' || value === 'false') return false;
  throw new ServiceError(
    'bad-request',
    `Invalid value for ?${name} "${text.slice(0, QUOTED_LENGTH_MAX)}": want true or false`,
  );
}

/** Returns every value of a repeated parameter. `Query` has only the first one. */
function allValues(url: string, name: string): string[] {
  const values = new URLSearchParams(url.slice(url.indexOf('?') + 1)).getAll(name);
  return values.filter((value) => value !== '');
}
