/** The checks stored in the rows of nodes and services. */
import type { DeepReadonly } from '../../../state/table.ts';
import type { CheckDefinition } from './check-definition.ts';
import type { InstanceCheck, InstanceService } from './instance.ts';

/** The statuses that a client can report ([SVC-16]). */
export const CHECK_STATUSES = ['passing', 'warning', 'critical'] as const;
export type CheckStatus = (typeof CHECK_STATUSES)[number];

export interface CatalogCheck {
  /** Unique among the checks of its service or node. */
  readonly id: string;
  readonly name: string;
  readonly status: CheckStatus;
  readonly notes: string;
  readonly output: string;
  /** `ttl` for checks of the local agent, otherwise what the client sent. */
  readonly type: string;
  readonly definition?: CheckDefinition;
}

/** The type of checks that become critical unless they are renewed. */
export const TTL_TYPE = 'ttl';

/** The output of a check that was not renewed within its TTL ([SVC-53]). */
export const TTL_EXPIRED_OUTPUT = 'TTL expired';

/** The output of every check of a lost node ([SVC-58]). */
export const NODE_LOST_OUTPUT = 'node lost';

/** Returns the check as part of an instance. @param service undefined for a check of the whole node */
export function toInstanceCheck(
  { id, name, status, notes, output, type, definition }: DeepReadonly<CatalogCheck>,
  service?: DeepReadonly<InstanceService>,
): InstanceCheck {
  return {
    id,
    name,
    status,
    notes,
    output,
    type,
    serviceId: service?.id ?? '',
    serviceName: service?.name ?? '',
    serviceTags: service?.tags ?? [],
    ...(definition && { definition }),
  };
}

/** Adds `given`, replacing checks with the same ID ([SVC-12]). @returns `existing` itself if nothing changed */
export function mergeChecks(
  existing: readonly DeepReadonly<CatalogCheck>[],
  given: readonly CatalogCheck[],
): readonly DeepReadonly<CatalogCheck>[] {
  let next = existing;
  for (const check of given) {
    const index = next.findIndex(({ id }) => id === check.id);
    const before = next[index];
    // A report may omit the type.
    const after = before !== undefined && check.type === '' ? { ...check, type: before.type } : check;
    if (before === undefined) next = [...next, after];
    else if (JSON.stringify(before) !== JSON.stringify(after)) next = next.with(index, after);
  }
  return next;
}
