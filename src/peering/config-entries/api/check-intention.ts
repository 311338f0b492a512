/** `GET /v1/connect/intentions/check`: whether a service may call another, and what decides; can wait. */
import { type Static, Type } from 'typebox';
import type { AclPolicy } from '../../../credentials/caller.ts';
import { authorize } from '../../../credentials/caller.ts';
import { type Asked, type Credentials, locate, waitingAs } from '../../../credentials/operation.ts';
import { partitionKey } from '../../../credentials/partition.ts';
import { existingPartition } from '../../../credentials/request-partition.ts';
import type { Evaluate } from '../../../http/blocking/reads.ts';
import type { Query } from '../../../http/query.ts';
import { peerings } from '../../record/record.ts';
import { configEntries, entryKey, WILDCARD } from '../config-entry.ts';
import { type Decision, decide, isPeer, type Rule } from '../intentions.ts';
import { readAttempt } from './intention-query.ts';
import { intentionSchema, showIntention } from './intention-to-json.ts';

export const intentionCheckSchema = Type.Object(
  {
    Allowed: Type.Boolean(),
    Reason: Type.String({ description: 'What decided, for people.' }),
    Intention: Type.Optional(intentionSchema),
  },
  { title: 'IntentionCheck' },
);

/**
 * Takes the grant to read what is said of the destination.
 * @throws ServiceError `bad-request`
 */
export function checkIntention(credentials: Credentials, asked: Asked, query: Query): Evaluate {
  const { state, policy, edition } = credentials;
  const attempt = readAttempt(query, edition);
  const { destination, sourcePeer } = attempt;
  return (snapshot) => {
    const { caller, partition: wanted } = locate(credentials, snapshot, asked);
    authorize(caller, { resource: 'config', access: 'read', partition: wanted, name: destination });
    const partition = existingPartition(snapshot, wanted);
    const { sourcePartition } = attempt;
    if (sourcePartition !== undefined) existingPartition(snapshot, sourcePartition);
    const names = [...new Set([destination, WILDCARD])];
    const rows = names.map((name) => state.watchRow(configEntries, entryKey(partition, 'service-intentions', name)));
    const peers = sourcePeer === undefined ? [] : [state.watchEntry(peerings, 'partition', partitionKey(partition))];
    const missing = sourcePeer !== undefined && !isPeer(snapshot, partition, sourcePeer) ? sourcePeer : undefined;
    return {
      ...waitingAs(caller),
      watched: [...rows, ...peers],
      body: () =>
        showDecision(decide(snapshot, { ...attempt, partition }, isAllowedByDefault(policy)), policy, missing),
    };
  };
}

/** What holds where no intention matches: where nobody is asked for a token, nothing is forbidden either. */
export const isAllowedByDefault = ({ enabled, defaultPolicy }: AclPolicy): boolean =>
  !enabled || defaultPolicy === 'allow';

/** @param missing the peer through which nothing can come */
function showDecision(
  { allowed, rule }: Decision,
  policy: AclPolicy,
  missing: string | undefined,
): Readonly<Static<typeof intentionCheckSchema>> {
  if (rule !== undefined) return { Allowed: allowed, Reason: reasonOf(rule), Intention: showIntention(rule) };
  const setting = policy.enabled ? `acl.default-policy is ${policy.defaultPolicy}` : 'acl.enabled is false';
  const because =
    missing === undefined ? 'no intention matches' : `there is no peer "${missing}": no intention matches`;
  return { Allowed: allowed, Reason: `${because}, and ${setting}` };
}

function reasonOf({ entry, source }: Rule): string {
  const from = source.peer === undefined ? '' : ` of peer "${source.peer}"`;
  return `service-intentions "${entry.name}": source "${source.name}"${from}, ${source.action}`;
}
