/**
 * Decides which services and nodes a caller may read or change. Grants can be limited to service names. A node is
 * visible to callers that may read every service of the partition, or at least one on the node ([SVC-3], [SVC-4]).
 */
import { type Access, grantsKeyFor, permits, permitsAnyName } from '../../../credentials/acl-token.ts';
import { type Caller, permissionDenied } from '../../../credentials/caller.ts';
import type { ServiceError } from '../../../http/errors.ts';
import type { CatalogResult } from './catalog-queries.ts';
import type { ResolvedInstance, ResolvedNode } from './resolved-instances.ts';

/** Rejects callers without any `services` grant in the partition. @throws ServiceError `permission-denied` */
export function authorizeAnyService(caller: Caller, access: Access, partition: string): void {
  if (!permitsAnyName(caller.grants, 'services', access, partition))
    throw permissionDenied(caller, { resource: 'services', access });
}

/** Whether the caller has a `services` grant without names in the partition. */
export const permitsAllServices = (caller: Caller, access: Access, partition: string): boolean =>
  permits(caller.grants, { resource: 'services', access, partition });

/** Rejects callers that may not write every service of the partition. @throws ServiceError `permission-denied` */
export function authorizeAllServices(caller: Caller, partition: string): void {
  if (!permitsAllServices(caller, 'write', partition))
    throw permissionDenied(caller, { resource: 'services', access: 'write' });
}

/**
 * Returns the error for changing a missing item. A caller that may not write every service gets the same 403 as for an
 * item that it may not write, so that it cannot probe which items exist ([SVC-5]).
 */
export const missingOrDenied = (caller: Caller, partition: string, error: ServiceError): ServiceError =>
  permitsAllServices(caller, 'write', partition)
    ? error
    : permissionDenied(caller, { resource: 'services', access: 'write' });

export interface VisibleResult {
  readonly instances: readonly ResolvedInstance[];
  readonly nodes: readonly ResolvedNode[];
  /** Whether something may have been omitted. */
  readonly filtered: boolean;
  /** Equal keys mean equal results, so that such callers can share one response. */
  readonly key: string;
}

const grantsKey = grantsKeyFor('services');

/** Returns what the caller may read. The caller must have some `services` grant in the partition. */
export function filterVisible(caller: Caller, partition: string, source: CatalogResult): VisibleResult {
  const { instances, nodes } = source;
  if (permitsAllServices(caller, 'read', partition)) return { instances, nodes, filtered: false, key: '' };
  const visibleInstances = instances.filter(({ instance }) =>
    permits(caller.grants, { resource: 'services', access: 'read', partition, name: instance.service.name }),
  );
  const visibleNodeNames = new Set(visibleInstances.map(({ instance }) => instance.node.name));
  const visibleNodes = nodes.filter(({ node }) => visibleNodeNames.has(node.name));
  const filtered = visibleInstances.length < instances.length || visibleNodes.length < nodes.length;
  return { instances: visibleInstances, nodes: visibleNodes, filtered, key: grantsKey(caller.grants) };
}

export function mergeVisible(parts: readonly VisibleResult[]): VisibleResult {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  return {
    instances: parts.flatMap(({ instances }) => instances),
    nodes: parts.flatMap(({ nodes }) => nodes),
    filtered: parts.some(({ filtered }) => filtered),
    key: parts.map(({ key }) => key).join('/'),
  };
}
