/** When a check falls due. */
import type { DeepReadonly } from '../../../state/table.ts';
import type { CheckStatus } from './check.ts';
import type { Due, TtlCheck } from './ttl-check.ts';

/** What is next for a check that has this status from `nowMs` on; undefined: nothing. */
export function dueAfter(
  { ttlMs, deregisterAfterMs }: Pick<DeepReadonly<TtlCheck>, 'ttlMs' | 'deregisterAfterMs'>,
  status: CheckStatus,
  nowMs: number,
): Due | undefined {
  if (status !== 'critical') return { atMs: nowMs + ttlMs, what: 'expire' };
  return deregisterAfterMs === undefined ? undefined : { atMs: nowMs + deregisterAfterMs, what: 'deregister' };
}

/** The row with what is next, or with nothing. */
export function withDue(row: DeepReadonly<TtlCheck>, due: Due | undefined): DeepReadonly<TtlCheck> {
  const { due: _before, ...kept } = row;
  return due === undefined ? kept : { ...kept, due };
}

/** Whether a check is critical already, by its own account: then it goes on being so from when it was. */
export const isCriticalAlready = ({ due }: DeepReadonly<TtlCheck>, status: CheckStatus): boolean =>
  status === 'critical' && due?.what !== 'expire';
