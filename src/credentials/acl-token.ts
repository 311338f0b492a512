/** ACL tokens: the row, the table, and how a token is shown. */
import { JsonText } from '../http/v1/json-answer.ts';
import { type DeepReadonly, defineTable, type Stored } from '../state/table.ts';
import type { Grant } from './grant.ts';

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

/** A token as the API shows it; `SecretID` only in the answer to its creation. Key order is the documented one. */
export interface ShownToken {
  readonly AccessorID: string;
  readonly SecretID?: string;
  readonly Description: string;
  readonly Partition: string;
  readonly ExpirationTime?: string;
  readonly Grants: readonly DeepReadonly<Grant>[];
  readonly CreateTime: string;
  readonly CreateIndex: number;
  readonly ModifyIndex: number;
}

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
