/** Computes the deadlines of TTL checks. */
import type { DeepReadonly } from '../../../state/table.ts';
import type { CheckStatus } from './check.ts';
import type { Deadline, TtlCheck } from './ttl-check.ts';

/** Returns the next deadline of a check that has had `status` since `nowMs`, or undefined if it has none. */
export function nextDeadline(
  { ttlMs, deregisterAfterMs }: Pick<DeepReadonly<TtlCheck>, 'ttlMs' | 'deregisterAfterMs'>,
  status: CheckStatus,
  nowMs: number,
): Deadline | undefined {
  if (status !== 'critical') return { atMs: nowMs + ttlMs, what: 'expire' };
  return deregisterAfterMs === undefined ? undefined : { atMs: nowMs + deregisterAfterMs, what: 'deregister' };
}

export function withDeadline(row: DeepReadonly<TtlCheck>, due: Deadline | undefined): DeepReadonly<TtlCheck> {
  const { due: _before, ...kept } = row;
  return due === undefined ? kept : { ...kept, due };
}

/** Whether a report of `status` leaves the deadline as it is, because the check is already critical. */
export const isCriticalAlready = ({ due }: DeepReadonly<TtlCheck>, status: CheckStatus): boolean =>
  status === 'critical' && due?.what !== 'expire';
