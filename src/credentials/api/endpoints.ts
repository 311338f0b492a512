/** The endpoints of credentials: who asks is read from the request here, everything else is in the operations. */
import { Type } from 'typebox';
import { auditEntrySchema } from '../../audit/read-audit.ts';
import { type Answer, emptyAnswer } from '../../http/answer.ts';
import { FILTERED } from '../../http/blocking/read-headers.ts';
import type { Reads } from '../../http/blocking/reads.ts';
import { type Call, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { ServiceError } from '../../http/errors.ts';
import { sendError } from '../../http/send.ts';
import { jsonAnswer } from '../../http/v1/json-answer.ts';
import { PARTITION_OR_ALL } from '../../http/v1/parameters.ts';
import { parseBody } from '../../http/v1/parse-body.ts';
import type { Clock } from '../../state/clock/clock.ts';
import type { Sealer } from '../../state/transfer/encryption.ts';
import { madeTokenSchema, shownTokenSchema } from '../acl-token.ts';
import type { Asked, Credentials } from '../operation.ts';
import { shownPartitionSchema } from '../partition.ts';
import { askedBy } from '../request-context.ts';
import { createToken } from './create-token.ts';
import { deletePartition, type PartitionUse } from './delete-partition.ts';
import { deleteToken } from './delete-token.ts';
import { answerExport, EXPORT_TYPE, exportSchema, PASSPHRASE_HEADER } from './export-state.ts';
import { listTokens, readTokenPage, TOKEN_PAGE } from './list-tokens.ts';
import { AUDIT_HEADERS, AUDIT_QUERY, answerAudit } from './read-audit-log.ts';
import { listPartitions, readPartition } from './read-partition.ts';
import { readSelf, readToken } from './read-token.ts';
import { changedTokenSchema, newTokenSchema } from './token-body.ts';
import { updateToken } from './update-token.ts';
import { partitionSchema, writePartition } from './write-partition.ts';

export interface CredentialsEndpoints {
  readonly credentials: Credentials;
  readonly reads: Reads;
  readonly clock: Clock;
  /** `compat = consul`: also takes `X-Consul-Token`. */
  readonly consul: boolean;
  readonly dataKey: Sealer | undefined;
  /** What else can name a partition, from the services. */
  readonly partitionUses: readonly PartitionUse[];
}

/** `/v1/acl/…`, `/v1/partition…`, `/v1/operator/export`, `/v1/audit`. */
export function credentialsEndpoints(options: CredentialsEndpoints): Endpoint[] {
  const { credentials, reads, clock, consul, dataKey, partitionUses } = options;
  const asked = (call: Call): Asked => askedBy(call, consul);
  return [
    {
      method: 'PUT',
      path: '/v1/acl/bootstrap',
      summary: 'Refused: the first start is the bootstrap',
      open: true,
      refused: true,
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
      answer: madeTokenSchema,
      handle: async (call) =>
        jsonAnswer(call, await createToken(credentials, asked(call), parseBody(newTokenSchema, call.body))),
    },
    {
      method: 'GET',
      path: '/v1/acl/token/self',
      summary: "Reads the caller's own ACL token",
      blocking: true,
      answer: shownTokenSchema,
      handle: (call) => reads.answer(call, readSelf(credentials, asked(call))),
    },
    {
      method: 'GET',
      path: '/v1/acl/token/:accessor',
      summary: 'Reads an ACL token',
      blocking: true,
      answer: shownTokenSchema,
      handle: (call) => reads.answer(call, readToken(credentials, asked(call), pathParameter(call, 'accessor'))),
    },
    {
      method: 'PUT',
      path: '/v1/acl/token/:accessor',
      summary: 'Changes an ACL token',
      body: changedTokenSchema,
      answer: shownTokenSchema,
      async handle(call) {
        const body = parseBody(changedTokenSchema, call.body);
        return jsonAnswer(call, await updateToken(credentials, asked(call), pathParameter(call, 'accessor'), body));
      },
    },
    {
      method: 'DELETE',
      path: '/v1/acl/token/:accessor',
      summary: 'Deletes an ACL token',
      handle: (call) => done(deleteToken(credentials, asked(call), pathParameter(call, 'accessor'))),
    },
    {
      method: 'GET',
      path: '/v1/acl/tokens',
      summary: 'Lists ACL tokens',
      blocking: true,
      query: [PARTITION_OR_ALL, ...TOKEN_PAGE],
      answer: Type.Array(shownTokenSchema),
      answerHeaders: [FILTERED],
      handle: (call) => reads.answer(call, listTokens(credentials, asked(call), readTokenPage(call.query))),
    },
    {
      method: 'PUT',
      path: '/v1/partition/:name',
      summary: 'Creates or changes a partition',
      body: partitionSchema,
      answer: shownPartitionSchema,
      async handle(call) {
        const body = parseBody(partitionSchema, call.body);
        return jsonAnswer(call, await writePartition(credentials, asked(call), pathParameter(call, 'name'), body));
      },
    },
    {
      method: 'GET',
      path: '/v1/partition/:name',
      summary: 'Reads a partition',
      blocking: true,
      answer: shownPartitionSchema,
      handle: (call) => reads.answer(call, readPartition(credentials, asked(call), pathParameter(call, 'name'))),
    },
    {
      method: 'DELETE',
      path: '/v1/partition/:name',
      summary: 'Deletes a partition that nothing names',
      handle: (call) => done(deletePartition(credentials, asked(call), pathParameter(call, 'name'), partitionUses)),
    },
    {
      method: 'GET',
      path: '/v1/partitions',
      summary: 'Lists partitions',
      blocking: true,
      answer: Type.Array(shownPartitionSchema),
      answerHeaders: [FILTERED],
      handle: (call) => reads.answer(call, listPartitions(credentials, asked(call))),
    },
    {
      method: 'GET',
      path: '/v1/operator/export',
      summary: 'Exports the whole state',
      headers: [PASSPHRASE_HEADER],
      answer: exportSchema,
      answerType: EXPORT_TYPE,
      handle(call) {
        answerExport(credentials, call, asked(call), { clock, dataKey }).catch((error: unknown) =>
          sendError(call, error),
        );
        return undefined;
      },
    },
    {
      method: 'GET',
      path: '/v1/audit',
      summary: 'Shows who changed what, newest first',
      query: AUDIT_QUERY,
      answer: Type.Array(auditEntrySchema),
      answerHeaders: AUDIT_HEADERS,
      handle: (call) => answerAudit(credentials, call, asked(call)),
    },
  ];
}

const done = async (operation: Promise<void>): Promise<Answer> => {
  await operation;
  return emptyAnswer;
};
