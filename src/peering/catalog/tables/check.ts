/** Checks as they stand in the rows of the nodes and services that they are of. */
import type { DeepReadonly } from '../../../state/table.ts';
import type { CheckDefinition } from './check-definition.ts';
import type { InstanceCheck, InstanceService } from './instance.ts';

/** What a check can say. */
export const CHECK_STATUSES = ['passing', 'warning', 'critical'] as const;
export type CheckStatus = (typeof CHECK_STATUSES)[number];

/** A check of a service, or of a whole node: which of them is where it stands. */
export interface KeptCheck {
  /** Unique among the checks of its service, or of its node. */
  readonly id: string;
  readonly name: string;
  readonly status: CheckStatus;
  readonly notes: string;
  readonly output: string;
  /** `ttl` for those that this cluster runs. */
  readonly type: string;
  readonly definition?: CheckDefinition;
}

/** The type of checks that are critical unless they are renewed. */
export const TTL = 'ttl';

/** What a check says that was not renewed in time. */
export const TTL_EXPIRED = 'TTL expired';

/** What every check of a lost node says. */
export const NODE_LOST = 'node lost';

/** The check as a part of an instance. @param service undefined: it is of the whole node */
export function instanceCheck(
  { id, name, status, notes, output, type, definition }: DeepReadonly<KeptCheck>,
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

/** The checks with `given` among them, each in the place of the one with its ID. The same array when nothing changes. */
export function withChecks(
  standing: readonly DeepReadonly<KeptCheck>[],
  given: readonly KeptCheck[],
): readonly DeepReadonly<KeptCheck>[] {
  let next = standing;
  for (const check of given) {
    const at = next.findIndex(({ id }) => id === check.id);
    const before = next[at];
    // Who reports for a check need not say again what kind it is.
    const after = before !== undefined && check.type === '' ? { ...check, type: before.type } : check;
    if (before === undefined) next = [...next, after];
    else if (JSON.stringify(before) !== JSON.stringify(after)) next = next.with(at, after);
  }
  return next;
}
