import { auditLog } from '../audit/record.ts';
import { aclTokens } from '../credentials/acl-token.ts';
import { cluster } from '../credentials/cluster.ts';
import { partitions } from '../credentials/partition.ts';
import { users, userTokens } from '../credentials/user.ts';
import { defineSchema } from '../state/table.ts';

/** Every table of the state. */
export const SCHEMA = defineSchema([cluster, partitions, aclTokens, users, userTokens, auditLog]);
