/** The table of ACL tokens. */
import { defineTable } from '../state/table.ts';
import type { Grant } from './grant.ts';

export interface AclToken {
  /** A UUID in lower case. Public. */
  readonly accessorId: string;
  /** SHA-256 of the secret ID [ACL-8]. */
  readonly secretHash: string;
  readonly description: string;
  /** Where the token lives, and the partition of requests that name none [ACL-48]. */
  readonly partition: string;
  readonly grants: readonly Grant[];
  /** RFC 3339. Absent: the token does not expire. */
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
