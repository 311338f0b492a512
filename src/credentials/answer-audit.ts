/** `GET /v1/audit`: what `audit/` read, for a caller who may read it. */
import { readAudit } from '../audit/read-audit.ts';
import type { AuditEntry } from '../audit/record.ts';
import type { Answer } from '../http/answer.ts';
import { type Call, callerSignal } from '../http/call.ts';
import { ServiceError } from '../http/errors.ts';
import type { Query } from '../http/query.ts';
import { jsonAnswer } from '../http/v1/json-answer.ts';
import type { Reader } from '../state/reader.ts';
import { authorize, type Caller } from './caller.ts';
import { permits } from './grant.ts';
import { AUDIT_ENTRIES_DEFAULT, AUDIT_ENTRIES_MAX } from './limits.ts';
import { type Asked, type Credentials, locate } from './operation.ts';
import { parseTime } from './parse-time.ts';
import { partitionKey } from './partition.ts';
import { readablePartitions } from './readable-partitions.ts';
import { ALL_PARTITIONS, existingPartition } from './request-partition.ts';

/**
 * The newest entries first, of every partition that the caller may read unless the request names one.
 * @throws ServiceError `bad-request` | `permission-denied`, StateError `unavailable`
 */
export async function answerAudit(credentials: Credentials, call: Call, asked: Asked): Promise<Answer> {
  const { state } = credentials;
  const sinceMs = readSince(call.query);
  const limit = readLimit(call.query);
  await state.consistent();
  const { snapshot } = state;
  const { caller, named = ALL_PARTITIONS } = locate(credentials, snapshot, asked, true);
  const { asksFor, leftOut } = scopeOf(snapshot, caller, named);
  const query = {
    sinceMs,
    limit,
    wanted: ({ partition }: AuditEntry) => asksFor(partition),
    visible: ({ partition }: AuditEntry) => permits(caller.grants, { resource: 'operator', access: 'read', partition }),
  };
  const { entries, filtered } = await readAudit(state, query, callerSignal(call));
  const headers = leftOut || filtered ? ['X-Service-Results-Filtered-By-ACLs', 'true'] : [];
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
  const text = query.get('since');
  if (text === undefined || text === '') return 0;
  const ms = parseTime(text);
  if (ms !== undefined) return ms;
  throw new ServiceError('bad-request', `Invalid since "${text}": want a time such as 2026-01-31T00:00:00Z`);
}

function readLimit(query: Query): number {
  const text = query.get('limit');
  if (text === undefined || text === '') return AUDIT_ENTRIES_DEFAULT;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= AUDIT_ENTRIES_MAX) return limit;
  throw new ServiceError('bad-request', `Invalid limit "${text}": want a whole number from 1 to ${AUDIT_ENTRIES_MAX}`);
}
