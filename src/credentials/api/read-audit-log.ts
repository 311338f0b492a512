/** `GET /v1/audit`: what `audit/` read, for a caller who may read it. */
import { Type } from 'typebox';
import { readAudit } from '../../audit/read-audit.ts';
import { type AuditEntry, isAuditKey } from '../../audit/record.ts';
import type { Answer } from '../../http/answer.ts';
import { FILTERED } from '../../http/blocking/read-headers.ts';
import { type Call, callerSignal } from '../../http/call.ts';
import { ServiceError } from '../../http/errors.ts';
import { countParameter, type Parameter, readCount } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import { jsonAnswer } from '../../http/v1/json-answer.ts';
import { PARTITION } from '../../http/v1/parameters.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { authorize, type Caller } from '../caller.ts';
import { permits } from '../grant.ts';
import { AUDIT_CHARACTERS_MAX, AUDIT_ENTRIES_DEFAULT, AUDIT_ENTRIES_MAX, AUDIT_SCANNED_MAX } from '../limits.ts';
import { type Asked, type Credentials, locate } from '../operation.ts';
import { parseTime } from '../parse-time.ts';
import { partitionKey } from '../partition.ts';
import { readablePartitions } from '../readable-partitions.ts';
import { ALL_PARTITIONS, existingPartition } from '../request-partition.ts';

const SINCE: Parameter = {
  name: 'since',
  description: 'Only entries from this time on (RFC 3339).',
  schema: Type.String(),
};
const LIMIT = countParameter('limit', 'At most so many entries.', {
  maximum: AUDIT_ENTRIES_MAX,
  fallback: AUDIT_ENTRIES_DEFAULT,
});
const BEFORE: Parameter = {
  name: 'before',
  description: 'Goes on where an earlier answer ended: its X-Service-Before.',
  schema: Type.String(),
};
const NEXT: Parameter = {
  name: 'X-Service-Before',
  description: `There may be older entries: what to pass as before to get them. An answer can be shorter than limit and have it, since at most ${AUDIT_SCANNED_MAX} entries, or 8 MiB of them, are looked through at once.`,
  schema: Type.String(),
};

/** What the audit log is asked by, and what its answers say besides the entries. */
export const AUDIT_QUERY: readonly Parameter[] = [
  { ...PARTITION, description: 'Only entries of this partition; of all that the caller may read unless given.' },
  SINCE,
  BEFORE,
  LIMIT,
];
export const AUDIT_HEADERS: readonly Parameter[] = [NEXT, FILTERED];

/**
 * The newest entries first, of every partition that the caller may read unless the request names one.
 * @throws ServiceError `bad-request` | `permission-denied`, StateError `unavailable`
 */
export async function answerAudit(credentials: Credentials, call: Call, asked: Asked): Promise<Answer> {
  const { state } = credentials;
  const sinceMs = readSince(call.query);
  const before = readBefore(call.query);
  const limit = readCount(call.query, LIMIT) ?? AUDIT_ENTRIES_DEFAULT;
  await state.consistent();
  const { snapshot } = state;
  const { caller, named = ALL_PARTITIONS } = locate(credentials, snapshot, asked, true);
  const { asksFor, leftOut } = scopeOf(snapshot, caller, named);
  const query = {
    sinceMs,
    before,
    limit,
    scannedMax: AUDIT_SCANNED_MAX,
    charactersMax: AUDIT_CHARACTERS_MAX,
    wanted: ({ partition }: AuditEntry) => asksFor(partition),
    visible: ({ partition }: AuditEntry) => permits(caller.grants, { resource: 'operator', access: 'read', partition }),
  };
  const { entries, filtered, next } = await readAudit(state, query, callerSignal(call));
  const headers = leftOut || filtered ? [FILTERED.name, 'true'] : [];
  if (next !== undefined) headers.push(NEXT.name, next);
  return jsonAnswer(call, entries, { headers });
}

/** Which partitions are asked for, and whether the caller may not read some of them. @throws ServiceError */
function scopeOf(
  reader: Reader,
  caller: Caller,
  named: string,
): { readonly asksFor: (partition: string) => boolean; readonly leftOut: boolean } {
  if (named === ALL_PARTITIONS) {
    const { filtered } = readablePartitions(reader, caller, 'operator');
    // Those that are gone by now included: their history is not.
    return { asksFor: () => true, leftOut: filtered };
  }
  authorize(caller, { resource: 'operator', access: 'read', partition: named });
  const key = partitionKey(existingPartition(reader, named));
  return { asksFor: (partition) => partitionKey(partition) === key, leftOut: false };
}

function readSince(query: Query): number {
  const text = query.get(SINCE.name);
  if (text === undefined || text === '') return 0;
  const ms = parseTime(text);
  if (ms !== undefined) return ms;
  throw new ServiceError('bad-request', `Invalid since "${text}": want a time such as 2026-01-31T00:00:00Z`);
}

function readBefore(query: Query): string | undefined {
  const text = query.get(BEFORE.name);
  if (text === undefined || text === '') return undefined;
  if (isAuditKey(text)) return text;
  throw new ServiceError('bad-request', `Invalid before "${text}": want the ${NEXT.name} of an earlier answer`);
}
