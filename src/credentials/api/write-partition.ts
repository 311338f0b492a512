/** `PUT /v1/partition/:name`: creates a partition or changes its description. */
import { type Static, Type } from 'typebox';
import { recordChange } from '../../audit/record.ts';
import { ServiceError } from '../../http/errors.ts';
import {
  authorize,
  type Credentials,
  originOf,
  type RequestContext,
  resolveCaller,
  writeForRequest,
} from '../caller.ts';
import { TEXT_CHARACTERS_MAX } from '../limits.ts';
import { checkPartitionName, type PartitionJson, partitionKey, partitions, partitionToJson } from '../partition.ts';

/** The body of `PUT /v1/partition/:name`. Accepts and ignores computed fields, as a read returns them. */
export const partitionBodySchema = Type.Object(
  {
    Name: Type.Optional(Type.String()),
    Description: Type.Optional(Type.String({ maxLength: TEXT_CHARACTERS_MAX })),
    CreateIndex: Type.Optional(Type.Integer()),
    ModifyIndex: Type.Optional(Type.Integer()),
  },
  { title: 'ChangedPartition', additionalProperties: false },
);

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export async function writePartition(
  credentials: Credentials,
  context: RequestContext,
  name: string,
  body: Static<typeof partitionBodySchema>,
): Promise<PartitionJson> {
  if (body.Name !== undefined && body.Name !== '' && partitionKey(body.Name) !== partitionKey(name)) {
    throw new ServiceError('bad-request', `Name "${body.Name}" is not that of the path, "${name}"`);
  }
  checkPartitionName(name, credentials.edition);
  return await writeForRequest(credentials, context, (tx) => {
    const { caller } = resolveCaller(credentials, tx, context);
    authorize(caller, { resource: 'operator', access: 'write', partition: name });
    const before = tx.get(partitions, partitionKey(name));
    const description = body.Description ?? before?.row.description ?? '';
    if (before !== undefined && before.row.description === description) return partitionToJson(before);
    const after = tx.put(partitions, { name: before?.row.name ?? name, description });
    recordChange(tx, originOf(context, caller), {
      action: before === undefined ? 'create' : 'update',
      type: 'partition',
      subject: after.row.name,
      partition: after.row.name,
      before: before === undefined ? null : partitionToJson(before),
      after: partitionToJson(after),
    });
    return partitionToJson(after);
  });
}
