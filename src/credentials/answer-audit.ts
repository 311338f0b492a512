/** `GET /v1/audit`: what `audit/` read, for a caller who may read it. */
import { readAudit } from '../audit/read-audit.ts';
import type { Answer } from '../http/answer.ts';
import { type Call, callerSignal } from '../http/call.ts';
import { ServiceError } from '../http/errors.ts';
import type { Query } from '../http/query.ts';
import { jsonAnswer } from '../http/v1/json-answer.ts';
import { authorizeSome } from './caller.ts';
import { permits } from './grant.ts';
import { AUDIT_ENTRIES_DEFAULT, AUDIT_ENTRIES_MAX } from './limits.ts';
import { type Asked, type Credentials, locate } from './operation.ts';
import { readablePartitions } from './readable-partitions.ts';
import { ALL_PARTITIONS } from './request-partition.ts';

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
  const named = [asked.partitions.query, asked.partitions.header].some((name) => name !== undefined && name !== '');
  const { caller, partition } = locate(credentials, snapshot, asked, true);
  const everywhere = !named || partition === ALL_PARTITIONS;
  if (everywhere) readablePartitions(snapshot, caller, 'operator');
  else authorizeSome(caller, { resource: 'operator', access: 'read', partition });
  const mayRead = (name: string): boolean =>
    permits(caller.grants, { resource: 'operator', access: 'read', partition: name });
  const wanted = (name: string): boolean => everywhere || name.toLowerCase() === partition.toLowerCase();
  const query = {
    sinceMs,
    limit,
    wanted: (entry: { partition: string }) => wanted(entry.partition),
    visible: (entry: { partition: string }) => mayRead(entry.partition),
  };
  const { entries, filtered } = await readAudit(state, query, callerSignal(call));
  const headers = filtered ? ['X-Service-Results-Filtered-By-ACLs', 'true'] : [];
  return jsonAnswer(call, entries, { headers });
}

function readSince(query: Query): number {
  const text = query.get('since');
  if (text === undefined || text === '') return 0;
  const ms = Date.parse(text);
  if (Number.isNaN(ms))
    throw new ServiceError('bad-request', `Invalid since "${text}": want a time such as 2026-01-31T00:00:00Z`);
  return ms;
}

function readLimit(query: Query): number {
  const text = query.get('limit');
  if (text === undefined || text === '') return AUDIT_ENTRIES_DEFAULT;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= AUDIT_ENTRIES_MAX) return limit;
  throw new ServiceError('bad-request', `Invalid limit "${text}": want a whole number from 1 to ${AUDIT_ENTRIES_MAX}`);
}
