/** `GET /v1/audit`: the audit entries that the caller may read, newest first [SRV-90]. */
import { Type } from 'typebox';
import { readAudit } from '../../audit/read-audit.ts';
import { type AuditEntry, isAuditKey } from '../../audit/record.ts';
import { answerLimits } from '../../http/answer-limits.ts';
import { FILTERED_HEADER } from '../../http/blocking/read-protocol.ts';
import { type Answer, type Call, disconnectSignal, type Query } from '../../http/call.ts';
import { ServiceError } from '../../http/errors.ts';
import { countParameter, type Parameter, readCount } from '../../http/parameter.ts';
import { jsonAnswer } from '../../http/v1/json-answer.ts';
import { PARTITION } from '../../http/v1/parameters.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { permits } from '../acl-token.ts';
import {
  authorize,
  type Caller,
  type Credentials,
  type RequestContext,
  readablePartitions,
  resolveCaller,
} from '../caller.ts';
import { AUDIT_CHARACTERS_MAX, AUDIT_ENTRIES_DEFAULT, AUDIT_ENTRIES_MAX, AUDIT_SCANNED_MAX } from '../limits.ts';
import { parseTime } from '../parse-time.ts';
import { ALL_PARTITIONS, existingPartition, partitionKey } from '../partition.ts';

const SINCE: Parameter = {
  name: 'since',
  description: 'The earliest time of an entry, RFC 3339.',
  schema: Type.String(),
};
const LIMIT = countParameter('limit', 'The maximum number of entries in the response.', {
  maximum: AUDIT_ENTRIES_MAX,
  fallback: AUDIT_ENTRIES_DEFAULT,
});
const BEFORE: Parameter = {
  name: 'before',
  description: 'The X-Service-Before of an earlier response. This response continues from there.',
  schema: Type.String(),
};
const BEFORE_HEADER: Parameter = {
  name: 'X-Service-Before',
  description: `The value of before for the next request, present if older entries may exist. A response can have it with fewer entries than limit, because the server examines at most ${AUDIT_SCANNED_MAX} entries, or 8 MiB of them (less with a small heap), per request.`,
  schema: Type.String(),
};

export const AUDIT_QUERY: readonly Parameter[] = [
  { ...PARTITION, description: 'The partition of the entries. Absent: every partition that the caller may read.' },
  SINCE,
  BEFORE,
  LIMIT,
];
export const AUDIT_HEADERS: readonly Parameter[] = [BEFORE_HEADER, FILTERED_HEADER];

/**
 * Returns entries of the requested partition, or of every partition that the caller may read [SRV-91].
 * @throws ServiceError `bad-request` | `permission-denied`, StateError `unavailable`
 */
export async function readAuditLog(credentials: Credentials, call: Call, context: RequestContext): Promise<Answer> {
  const { state } = credentials;
  const sinceMs = readSince(call.query);
  const before = readBefore(call.query);
  const limit = readCount(call.query, LIMIT) ?? AUDIT_ENTRIES_DEFAULT;
  await state.consistent();
  const { snapshot } = state;
  const { caller, requestedPartition: requested = ALL_PARTITIONS } = resolveCaller(
    credentials,
    snapshot,
    context,
    true,
  );
  const { isRequested, omitsPartitions } = auditScope(snapshot, caller, requested);
  const query = {
    sinceMs,
    before,
    limit,
    scannedMax: AUDIT_SCANNED_MAX,
    // A small heap returns shorter pages: entries take several times their text until they are sent.
    charactersMax: Math.min(AUDIT_CHARACTERS_MAX, answerLimits().charactersMax / 4),
    wanted: ({ partition }: AuditEntry) => isRequested(partition),
    visible: ({ partition }: AuditEntry) => permits(caller.grants, { resource: 'operator', access: 'read', partition }),
  };
  const { entries, filtered, next } = await readAudit(state, query, disconnectSignal(call));
  const headers = omitsPartitions || filtered ? [FILTERED_HEADER.name, 'true'] : [];
  if (next !== undefined) headers.push(BEFORE_HEADER.name, next);
  return jsonAnswer(call, entries, { headers });
}

/** Returns which partitions the request selects, and whether the caller may not read some. @throws ServiceError */
function auditScope(
  reader: Reader,
  caller: Caller,
  requested: string,
): { readonly isRequested: (partition: string) => boolean; readonly omitsPartitions: boolean } {
  if (requested === ALL_PARTITIONS) {
    const { filtered } = readablePartitions(reader, caller, 'operator');
    // Includes deleted partitions, whose entries remain.
    return { isRequested: () => true, omitsPartitions: filtered };
  }
  authorize(caller, { resource: 'operator', access: 'read', partition: requested });
  const key = partitionKey(existingPartition(reader, requested));
  return { isRequested: (partition) => partitionKey(partition) === key, omitsPartitions: false };
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
  throw new ServiceError(
    'bad-request',
    `Invalid before "${text}": want the ${BEFORE_HEADER.name} of an earlier answer`,
  );
}
