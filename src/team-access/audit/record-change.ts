/** Writes changes of team access to the audit log, in the commit that makes them. */
import { hash } from 'node:crypto';
import { type Origin, recordChange } from '../../audit/record.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { AUDITED_SETTING_CHARACTERS_MAX } from '../limits.ts';
import { nextPlace } from './trail.ts';

export interface TeamAccessChange {
  /** The organization in whose audit trail it stands; absent for users. */
  readonly organizationId?: string;
  /** Such as `create`, `update`, `destroy`, `add_team`. */
  readonly action: string;
  /** The JSON:API type of what changed. */
  readonly type: string;
  readonly subject: string;
  /** As it is kept or shown, without secrets; null where it did not exist. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Team access has no partitions: only who may read those of all is shown its entries at `/v1/audit`. */
const NO_PARTITION = '';

/** Adds an entry to the commit of `tx`. */
export function recordTeamAccess(tx: Transaction, origin: Origin, change: TeamAccessChange): void {
  const { organizationId, before, after } = change;
  const place = organizationId === undefined ? undefined : nextPlace(tx, organizationId);
  recordChange(tx, origin, {
    ...change,
    before: withShortSettings(before),
    after: withShortSettings(after),
    partition: NO_PARTITION,
    ...(place !== undefined && { place }),
  });
}

/** Settings decide nothing; a list of a hundred texts among them would stand in every later entry of its thing. */
function withShortSettings(thing: unknown): unknown {
  if (typeof thing !== 'object' || thing === null || !('settings' in thing)) return thing;
  const settings = Object.entries(thing.settings as Readonly<Record<string, unknown>>);
  return { ...thing, settings: Object.fromEntries(settings.map(([name, value]) => [name, shortened(value)])) };
}

function shortened(value: unknown): unknown {
  const text = JSON.stringify(value);
  if (text.length <= AUDITED_SETTING_CHARACTERS_MAX) return value;
  return { characters: text.length, sha256: hash('sha256', text) };
}
