/** `PUT /v1/partition/:name`: creates a partition or changes its description. */
import { type Static, Type } from 'typebox';
import { recordChange } from '../../audit/record.ts';
import { ServiceError } from '../../http/errors.ts';
import { authorize } from '../caller.ts';
import { DESCRIPTION_CHARACTERS_MAX } from '../limits.ts';
import { type Asked, type Credentials, locate, originOf, writeFor } from '../operation.ts';
import { partitionKey, partitions, type ShownPartition, showPartition } from '../partition.ts';
import { checkPartitionName } from '../request-partition.ts';

/** The body of `PUT /v1/partition/:name`; what is computed is taken and not looked at. */
export const partitionSchema = Type.Object(
  {
    Name: Type.Optional(Type.String()),
    Description: Type.Optional(Type.String({ maxLength: DESCRIPTION_CHARACTERS_MAX })),
    CreateIndex: Type.Optional(Type.Integer()),
    ModifyIndex: Type.Optional(Type.Integer()),
  },
  { title: 'ChangedPartition', additionalProperties: false },
);

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export async function writePartition(
  credentials: Credentials,
  asked: Asked,
  name: string,
  body: Static<typeof partitionSchema>,
): Promise<ShownPartition> {
  if (body.Name !== undefined && body.Name !== '' && partitionKey(body.Name) !== partitionKey(name)) {
    throw new ServiceError('bad-request', `Name "${body.Name}" is not that of the path, "${name}"`);
  }
  checkPartitionName(name, credentials.edition);
  return await writeFor(credentials, asked, (tx) => {
    const { caller } = locate(credentials, tx, asked);
    authorize(caller, { resource: 'operator', access: 'write', partition: name });
    const before = tx.get(partitions, partitionKey(name));
    const description = body.Description ?? before?.row.description ?? '';
    if (before !== undefined && before.row.description === description) return showPartition(before);
    const after = tx.put(partitions, { name: before?.row.name ?? name, description });
    recordChange(tx, originOf(asked, caller), {
      action: before === undefined ? 'create' : 'update',
      type: 'partition',
      subject: after.row.name,
      partition: after.row.name,
      before: before === undefined ? null : showPartition(before),
      after: showPartition(after),
    });
    return showPartition(after);
  });
}
