/** The endpoints of ACL tokens, partitions, the export and the audit log, whose handlers are in the sibling files. */
import { Type } from 'typebox';
import { auditEntrySchema } from '../../audit/read-audit.ts';
import type { BlockingQueries } from '../../http/blocking/blocking-query.ts';
import { FILTERED_HEADER } from '../../http/blocking/read-protocol.ts';
import { type Answer, type Call, emptyAnswer, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { ServiceError } from '../../http/errors.ts';
import { sendError } from '../../http/send.ts';
import { jsonAnswer } from '../../http/v1/json-answer.ts';
import { PARTITION_OR_ALL } from '../../http/v1/parameters.ts';
import { parseBody } from '../../http/v1/parse-body.ts';
import type { Clock } from '../../state/clock/clock.ts';
import type { TextCipher } from '../../state/transfer/encryption.ts';
import { aclTokenSchema, createdAclTokenSchema } from '../acl-token-to-json.ts';
import { type Credentials, type RequestContext, requestContextOf } from '../caller.ts';
import { partitionSchema } from '../partition.ts';
import { createToken } from './create-token.ts';
import { deletePartition, type PartitionUse } from './delete-partition.ts';
import { deleteToken } from './delete-token.ts';
import { EXPORT_TYPE, exportSchema, PASSPHRASE_HEADER, sendExport } from './export-state.ts';
import { listTokens, readTokenPage, TOKEN_PAGE } from './list-tokens.ts';
import { AUDIT_HEADERS, AUDIT_QUERY, readAuditLog } from './read-audit-log.ts';
import { listPartitions, readPartition } from './read-partition.ts';
import { readSelf, readToken } from './read-token.ts';
import { newTokenSchema, tokenUpdateSchema } from './token-body.ts';
import { updateToken } from './update-token.ts';
import { partitionBodySchema, writePartition } from './write-partition.ts';

export interface CredentialsEndpoints {
  readonly credentials: Credentials;
  readonly reads: BlockingQueries;
  readonly clock: Clock;
  /** Whether the endpoints also accept `X-Consul-Token` (`compat: consul`). */
  readonly consul: boolean;
  readonly dataKey: TextCipher | undefined;
  /** The users of partitions outside this folder. */
  readonly partitionUses: readonly PartitionUse[];
}

/** `/v1/acl/…`, `/v1/partition…`, `/v1/operator/export`, `/v1/audit`. */
export function credentialsEndpoints(options: CredentialsEndpoints): Endpoint[] {
  const { credentials, reads, clock, consul, dataKey, partitionUses } = options;
  const context = (call: Call): RequestContext => requestContextOf(call, consul);
  return [
    {
      method: 'PUT',
      path: '/v1/acl/bootstrap',
      summary: 'Always rejected, because the first start creates the first credentials',
      open: true,
      unsupported: true,
      handle() {
        throw new ServiceError(
          'permission-denied',
          'Permission denied: ACL bootstrap no longer allowed, the first start has made the first credentials',
        );
      },
    },
    {
      method: 'PUT',
      path: '/v1/acl/token',
      summary: 'Creates an ACL token',
      body: newTokenSchema,
      answer: createdAclTokenSchema,
      handle: async (call) =>
        jsonAnswer(call, await createToken(credentials, context(call), parseBody(newTokenSchema, call.body))),
    },
    {
      method: 'GET',
      path: '/v1/acl/token/self',
      summary: "Reads the caller's own ACL token",
      blocking: true,
      answer: aclTokenSchema,
      handle: (call) => reads.answer(call, readSelf(credentials, context(call))),
    },
    {
      method: 'GET',
      path: '/v1/acl/token/:accessor',
      summary: 'Reads an ACL token',
      blocking: true,
      answer: aclTokenSchema,
      handle: (call) => reads.answer(call, readToken(credentials, context(call), pathParameter(call, 'accessor'))),
    },
    {
      method: 'PUT',
      path: '/v1/acl/token/:accessor',
      summary: 'Changes an ACL token',
      body: tokenUpdateSchema,
      answer: aclTokenSchema,
      async handle(call) {
        const body = parseBody(tokenUpdateSchema, call.body);
        return jsonAnswer(call, await updateToken(credentials, context(call), pathParameter(call, 'accessor'), body));
      },
    },
    {
      method: 'DELETE',
      path: '/v1/acl/token/:accessor',
      summary: 'Deletes an ACL token',
      handle: (call) => emptyAfter(deleteToken(credentials, context(call), pathParameter(call, 'accessor'))),
    },
    {
      method: 'GET',
      path: '/v1/acl/tokens',
      summary: 'Lists ACL tokens',
      blocking: true,
      query: [PARTITION_OR_ALL, ...TOKEN_PAGE],
      answer: Type.Array(aclTokenSchema),
      answerHeaders: [FILTERED_HEADER],
      handle: (call) => reads.answer(call, listTokens(credentials, context(call), readTokenPage(call.query))),
    },
    {
      method: 'PUT',
      path: '/v1/partition/:name',
      summary: 'Creates or changes a partition',
      body: partitionBodySchema,
      answer: partitionSchema,
      async handle(call) {
        const body = parseBody(partitionBodySchema, call.body);
        return jsonAnswer(call, await writePartition(credentials, context(call), pathParameter(call, 'name'), body));
      },
    },
    {
      method: 'GET',
      path: '/v1/partition/:name',
      summary: 'Reads a partition',
      blocking: true,
      answer: partitionSchema,
      handle: (call) => reads.answer(call, readPartition(credentials, context(call), pathParameter(call, 'name'))),
    },
    {
      method: 'DELETE',
      path: '/v1/partition/:name',
      summary: 'Deletes a partition that nothing refers to',
      handle: (call) =>
        emptyAfter(deletePartition(credentials, context(call), pathParameter(call, 'name'), partitionUses)),
    },
    {
      method: 'GET',
      path: '/v1/partitions',
      summary: 'Lists partitions',
      blocking: true,
      answer: Type.Array(partitionSchema),
      answerHeaders: [FILTERED_HEADER],
      handle: (call) => reads.answer(call, listPartitions(credentials, context(call))),
    },
    {
      method: 'GET',
      path: '/v1/operator/export',
      summary: 'Exports the whole state',
      headers: [PASSPHRASE_HEADER],
      answer: exportSchema,
      answerType: EXPORT_TYPE,
      handle(call) {
        sendExport(credentials, call, context(call), { clock, dataKey }).catch((error: unknown) =>
          sendError(call, error),
        );
        return undefined;
      },
    },
    {
      method: 'GET',
      path: '/v1/audit',
      summary: 'Lists audit entries, newest first',
      query: AUDIT_QUERY,
      answer: Type.Array(auditEntrySchema),
      answerHeaders: AUDIT_HEADERS,
      handle: (call) => readAuditLog(credentials, call, context(call)),
    },
  ];
}

const emptyAfter = async (operation: Promise<void>): Promise<Answer> => {
  await operation;
  return emptyAnswer;
};
