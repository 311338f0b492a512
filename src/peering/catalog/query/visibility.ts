/**
 * Which services, and which nodes, a caller may read: grants can be limited to names of services. A node is shown to
 * who may read everything in the partition, or something that is on it.
 */
import { hash } from 'node:crypto';
import { type Caller, lacks } from '../../../credentials/caller.ts';
import { type Access, type Grant, permits, permitsSome } from '../../../credentials/grant.ts';
import type { ServiceError } from '../../../http/errors.ts';
import type { NodeSource } from './catalog-queries.ts';
import type { FoundInstance, FoundNode } from './resolved-instances.ts';

/** Refuses who has no grant at all in the partition. @throws ServiceError `permission-denied` */
export function authorizeSome(caller: Caller, access: Access, partition: string): void {
  if (!permitsSome(caller.grants, 'services', access, partition)) throw lacks(caller, { resource: 'services', access });
}

/** Whether a grant without names gives it: what concerns all services takes that. */
export const permitsAll = (caller: Caller, access: Access, partition: string): boolean =>
  permits(caller.grants, { resource: 'services', access, partition });

/** Refuses who may not change every service: what concerns them all. @throws ServiceError `permission-denied` */
export function authorizeAll(caller: Caller, partition: string): void {
  if (!permitsAll(caller, 'write', partition)) throw lacks(caller, { resource: 'services', access: 'write' });
}

/**
 * How a change of something that is not there is refused: to who may not change every service in the very words in
 * which they are refused what is another's, so that nobody learns by trying what there is.
 */
export const absent = (caller: Caller, partition: string, refusal: ServiceError): ServiceError =>
  permitsAll(caller, 'write', partition) ? refusal : lacks(caller, { resource: 'services', access: 'write' });

/** What a caller sees of a source. */
export interface Visible {
  readonly instances: readonly FoundInstance[];
  readonly nodes: readonly FoundNode[];
  /** Something may have been left out. */
  readonly filtered: boolean;
  /** The same for everybody who sees the same. */
  readonly key: string;
}

/** What of a source a caller may read who may read something in the partition. */
export function visibleOf(caller: Caller, partition: string, source: NodeSource): Visible {
  const { instances, nodes } = source;
  if (permitsAll(caller, 'read', partition)) return { instances, nodes, filtered: false, key: '' };
  const seen = instances.filter(({ instance }) =>
    permits(caller.grants, { resource: 'services', access: 'read', partition, name: instance.service.name }),
  );
  const seenNodes = new Set(seen.map(({ instance }) => instance.node.name));
  const shown = nodes.filter(({ node }) => seenNodes.has(node.name));
  const filtered = seen.length < instances.length || shown.length < nodes.length;
  return { instances: seen, nodes: shown, filtered, key: grantsKey(caller.grants) };
}

/** What a caller sees of several sources, as one. */
export function joinVisible(parts: readonly Visible[]): Visible {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  return {
    instances: parts.flatMap(({ instances }) => instances),
    nodes: parts.flatMap(({ nodes }) => nodes),
    filtered: parts.some(({ filtered }) => filtered),
    key: parts.map(({ key }) => key).join('/'),
  };
}

/** By the grants of a token's row, which never change. */
const grantsKeys = new WeakMap<readonly Grant[], string>();

/** What the grants say about services; short, however many they are. */
function grantsKey(grants: readonly Grant[]): string {
  let key = grantsKeys.get(grants);
  if (key === undefined) {
    key = hash('sha256', JSON.stringify(grants.filter(({ Resource }) => Resource === 'services')), 'base64url');
    grantsKeys.set(grants, key);
  }
  return key;
}
