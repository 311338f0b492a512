/** Records changes of team access in the audit log, in the same commit. */
import { hash } from 'node:crypto';
import { type Origin, recordChange } from '../../audit/record.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { AUDITED_SETTING_CHARACTERS_MAX } from '../limits.ts';
import { addToTrail } from './trail.ts';

export interface TeamAccessChange {
  /** Organization whose audit trail contains the entry. Absent for users. */
  readonly organizationId?: string;
  /** For example `create`, `update`, `destroy` or `add_team`. */
  readonly action: string;
  /** JSON:API type of the resource. */
  readonly type: string;
  readonly subject: string;
  /** The resource without secrets, or null when it did not exist. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Team access has no partitions, so `/v1/audit` returns its entries only with access to all partitions. */
const NO_PARTITION = '';

export function recordTeamAccessChange(tx: Transaction, origin: Origin, change: TeamAccessChange): void {
  const { organizationId, before, after } = change;
  const place = organizationId === undefined ? undefined : addToTrail(tx, organizationId);
  recordChange(tx, origin, {
    ...change,
    before: shortenSettings(before),
    after: shortenSettings(after),
    partition: NO_PARTITION,
    ...(place !== undefined && { place }),
  });
}

/** Replaces long settings, because every entry of the resource would repeat them although they have no effect. */
function shortenSettings(resource: unknown): unknown {
  if (typeof resource !== 'object' || resource === null || !('settings' in resource)) return resource;
  const settings = Object.entries(resource.settings as Readonly<Record<string, unknown>>);
  return { ...resource, settings: Object.fromEntries(settings.map(([name, value]) => [name, shortenValue(value)])) };
}

function shortenValue(value: unknown): unknown {
  const text = JSON.stringify(value);
  if (text.length <= AUDITED_SETTING_CHARACTERS_MAX) return value;
  return { characters: text.length, sha256: hash('sha256', text) };
}
