/** ACL tokens: the row, the table, and how a token is shown. */
import { type Static, Type } from 'typebox';
import { JsonText } from '../http/v1/json-answer.ts';
import { type DeepReadonly, defineTable, type Stored } from '../state/table.ts';
import { type Grant, grantSchema } from './grant.ts';

export interface AclToken {
  /** Public id, a UUID in lower case. */
  readonly accessorId: string;
  /** SHA-256 of the secret ID. */
  readonly secretHash: string;
  readonly description: string;
  /** Where the token lives, and the partition of its requests unless they name another. */
  readonly partition: string;
  readonly grants: readonly Grant[];
  /** RFC 3339; absent: never. */
  readonly expirationTime?: string;
  readonly createTime: string;
}

export const aclTokens = defineTable<AclToken>()({
  name: 'acl-tokens',
  key: (token) => token.accessorId,
  formats: { version: 1 },
  indexes: {
    secretHash: { entry: (token) => token.secretHash, unique: true },
    partition: { entry: (token) => token.partition.toLowerCase(), watched: true },
  },
  holdsSecrets: true,
  expiresAt: (token) => (token.expirationTime === undefined ? undefined : Date.parse(token.expirationTime)),
});

const accessorId = { AccessorID: Type.String({ description: 'Names the token wherever it is spoken of.' }) };
const shownFields = {
  Description: Type.String(),
  Partition: Type.String({
    description: 'Where it lives, and the partition of its requests unless they name another.',
  }),
  ExpirationTime: Type.Optional(Type.String({ description: 'RFC 3339; absent: never.' })),
  Grants: Type.Array(grantSchema),
  CreateTime: Type.String({ description: 'RFC 3339' }),
  CreateIndex: Type.Integer(),
  ModifyIndex: Type.Integer(),
};

/** A token as the API shows it. Key order is the documented one. */
export const shownTokenSchema = Type.Object({ ...accessorId, ...shownFields }, { title: 'ACLToken' });

/** A token as the answer to its creation shows it. */
export const madeTokenSchema = Type.Object(
  { ...accessorId, SecretID: Type.String({ description: 'What requests present; shown once.' }), ...shownFields },
  { title: 'MadeACLToken' },
);

/** A token as the API shows it; `SecretID` only in the answer to its creation. */
export type ShownToken = DeepReadonly<Static<typeof shownTokenSchema>> & { readonly SecretID?: string };

/** The document of a token. */
export function showToken({ row, createIndex, modifyIndex }: Stored<AclToken>, secretId?: string): ShownToken {
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

const texts = new WeakMap<Stored<AclToken>, JsonText>();

/** The document as JSON text, made once for each version of a row. */
export function tokenText(stored: Stored<AclToken>): JsonText {
  let text = texts.get(stored);
  if (text === undefined) {
    text = new JsonText(JSON.stringify(showToken(stored)));
    texts.set(stored, text);
  }
  return text;
}
