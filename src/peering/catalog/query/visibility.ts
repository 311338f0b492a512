/**
 * Decides which services and nodes a caller may read or change. Grants can be limited to service names. A node is
 * visible to callers that may read every service of the partition, or at least one on the node ([SVC-3], [SVC-4]).
 */
import { type Access, grantsKeyFor, permits, permitsAnyName } from '../../../credentials/acl-token.ts';
import { type Caller, permissionDenied } from '../../../credentials/caller.ts';
import type { ServiceError } from '../../../http/errors.ts';
import { filterInSlices, type Steps, visitInSlices } from '../../../state/clock/slices.ts';
import type { CatalogContent } from './catalog-queries.ts';

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

export interface VisibleContent extends CatalogContent {
  /** Whether something may have been omitted. */
  readonly filtered: boolean;
}

const grantsKey = grantsKeyFor('services');

/** Returns a key. Callers with equal keys see the same content. */
export const visibilityKey = ({ grants }: Caller, partition: string): string =>
  permits(grants, { resource: 'services', access: 'read', partition }) ? '' : grantsKey(grants);

/** Returns what the caller may read. The caller must have some `services` grant in the partition. */
export function* filterVisible(caller: Caller, partition: string, source: CatalogContent): Steps<VisibleContent> {
  const { instances, nodes } = source;
  if (permitsAllServices(caller, 'read', partition)) return { instances, nodes, filtered: false };
  const visibleInstances = yield* filterInSlices(instances, ({ instance }) =>
    permits(caller.grants, { resource: 'services', access: 'read', partition, name: instance.service.name }),
  );
  const visibleNodeNames = new Set<string>();
  yield* visitInSlices(visibleInstances, ({ instance }) => void visibleNodeNames.add(instance.node.name));
  const visibleNodes = yield* filterInSlices(nodes, ({ node }) => visibleNodeNames.has(node.name));
  const filtered = visibleInstances.length < instances.length || visibleNodes.length < nodes.length;
  return { instances: visibleInstances, nodes: visibleNodes, filtered };
}

/** Merges the content of several partitions. */
export function mergeVisible(parts: readonly VisibleContent[]): VisibleContent {
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  return {
    instances: parts.flatMap(({ instances }) => instances),
    nodes: parts.flatMap(({ nodes }) => nodes),
    filtered: parts.some(({ filtered }) => filtered),
  };
}
