/** The JSON document of an ACL token [ACL-12]. */
import { type Static, Type } from 'typebox';
import { JsonText } from '../http/v1/json-answer.ts';
import { derivedFrom } from '../state/memory/derived-cache.ts';
import type { DeepReadonly, Stored } from '../state/table.ts';
import { type AclToken, grantSchema } from './acl-token.ts';

const accessorId = { AccessorID: Type.String({ description: 'The public ID of the token.' }) };
const publicFields = {
  Description: Type.String(),
  Partition: Type.String({
    description: 'Where the token lives, and the partition of its requests when they name none.',
  }),
  ExpirationTime: Type.Optional(Type.String({ description: 'RFC 3339. Absent: the token does not expire.' })),
  Grants: Type.Array(grantSchema),
  CreateTime: Type.String({ description: 'RFC 3339' }),
  CreateIndex: Type.Integer(),
  ModifyIndex: Type.Integer(),
};

export const aclTokenSchema = Type.Object({ ...accessorId, ...publicFields }, { title: 'ACLToken' });

/** The response to a creation, the only one with the secret ID [ACL-14]. */
export const createdAclTokenSchema = Type.Object(
  {
    ...accessorId,
    SecretID: Type.String({ description: 'What requests present. Only this response contains it.' }),
    ...publicFields,
  },
  { title: 'MadeACLToken' },
);

export type AclTokenJson = DeepReadonly<Static<typeof aclTokenSchema>> & { readonly SecretID?: string };

/** Returns the document of a token, with the fields in the documented order. */
export function aclTokenToJson({ row, createIndex, modifyIndex }: Stored<AclToken>, secretId?: string): AclTokenJson {
  return {
    AccessorID: row.accessorId,
    ...(secretId === undefined ? {} : { SecretID: secretId }),
    Description: row.description,
    Partition: row.partition,
    ...(row.expirationTime === undefined ? {} : { ExpirationTime: row.expirationTime }),
    Grants: row.grants,
    CreateTime: row.createTime,
    CreateIndex: createIndex,
    ModifyIndex: modifyIndex,
  };
}

/** Returns the document as JSON text. Serializes each version of a row once. */
export const aclTokenJsonText = derivedFrom(
  (stored: Stored<AclToken>) => new JsonText(JSON.stringify(aclTokenToJson(stored))),
);
