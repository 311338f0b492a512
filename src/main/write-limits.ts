/** The limits of what callers add to the state: row quotas and the rate of bytes, from the settings [SRV-112]. */
import { Gauge, type Registry } from 'prom-client';
import { createRate, type Rate } from '../budget/rate.ts';
import type { Config } from '../config.ts';
import { type Partition, partitions } from '../credentials/partition.ts';
import { type User, users } from '../credentials/user.ts';
import type { Clock } from '../state/clock/clock.ts';
import { COUNTED_ROW_BYTES } from '../state/limits.ts';
import type { State } from '../state/state.ts';
import type { RowQuota } from '../state/write/admission.ts';
import { type Organization, organizations } from '../team-access/tables/organization.ts';
import { CROWDED_SHARE, HOLDER_SHARE_MAX, PARTITION_SHARE_MAX, WRITE_BURST_SECONDS } from './limits.ts';

/** The settings that this file reads. */
export type WriteLimits = Pick<
  Config['limits'],
  'rowsPerOrganization' | 'rowsPerUser' | 'rowsPerPartition' | 'writeRate'
>;

/** @param rowsMax `state.rows-max` @param rowBytesMax the memory for rows */
export function rowQuotas(
  { rowsPerOrganization, rowsPerUser, rowsPerPartition }: WriteLimits,
  rowsMax: number,
  rowBytesMax: number,
): readonly RowQuota[] {
  const rowsThatFit = Math.min(rowsMax, rowBytesMax / COUNTED_ROW_BYTES);
  return [
    {
      table: organizations,
      kind: 'organization',
      ...atMost(rowsThatFit * HOLDER_SHARE_MAX, rowsPerOrganization, 'limits.rows-per-organization'),
      nameOf: (row) => (row as Organization).name,
    },
    {
      table: users,
      kind: 'user',
      ...atMost(rowsThatFit * HOLDER_SHARE_MAX, rowsPerUser, 'limits.rows-per-user'),
      nameOf: (row) => (row as User).username,
      isExempt: (row) => (row as User).siteAdmin,
    },
    {
      table: partitions,
      kind: 'partition',
      ...atMost(rowsThatFit * PARTITION_SHARE_MAX, rowsPerPartition, 'limits.rows-per-partition'),
      nameOf: (row) => (row as Partition).name,
    },
  ];
}

/** One holder gets no more than a share of the state, however small it is. */
function atMost(shareMax: number, rowsMax: number, setting: string): Pick<RowQuota, 'rowsMax' | 'setting'> {
  if (rowsMax <= shareMax) return { rowsMax, setting };
  return { rowsMax: Math.floor(shareMax), setting: `its share of the row limit (${setting})` };
}

/** Returns the rate of bytes that each caller writes, or `undefined` if `limits.write-rate` is off. */
export function createWriteRate({ writeRate }: Pick<WriteLimits, 'writeRate'>, clock: Clock): Rate | undefined {
  if (writeRate === 'off') return undefined;
  const limits = { perSecond: writeRate, burst: writeRate * WRITE_BURST_SECONDS };
  return createRate({ name: 'write-bytes', bound: 'caller', limits, clock });
}

/** Adds the organizations, users, and partitions near their quota to the metrics that contain names [SRV-113]. */
export function addCrowdedHolders(restricted: Registry, admission: Pick<State['admission'], 'crowdedHolders'>): void {
  new Gauge({
    name: 'accord_quota_rows',
    help: 'Rows of each organization, user, and partition that has at least 80 % of its quota',
    labelNames: ['quota', 'name'],
    registers: [restricted],
    collect() {
      this.reset();
      for (const { kind, name, rows } of admission.crowdedHolders(CROWDED_SHARE)) this.set({ quota: kind, name }, rows);
    },
  });
}
