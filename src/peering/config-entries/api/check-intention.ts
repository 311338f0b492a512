/** `GET /v1/connect/intentions/check`: whether a service may call another, and why ([SVC-90]). */
import { type Static, Type } from 'typebox';
import { permits, permitsAnyName } from '../../../credentials/acl-token.ts';
import {
  type AclPolicy,
  authorize,
  type Credentials,
  type RequestContext,
  resolveCaller,
  waitOptionsOf,
} from '../../../credentials/caller.ts';
import { existingPartition, partitionKey } from '../../../credentials/partition.ts';
import type { Evaluate } from '../../../http/blocking/blocking-query.ts';
import type { Query } from '../../../http/call.ts';
import { peerings } from '../../record/record.ts';
import { configEntries, entryKey, WILDCARD } from '../config-entry.ts';
import { type Decision, decide, isActivePeer, type Rule } from '../intentions.ts';
import { readServiceCall } from './intention-query.ts';
import { intentionSchema, intentionToJson } from './intention-to-json.ts';

export const intentionCheckSchema = Type.Object(
  {
    Allowed: Type.Boolean(),
    Reason: Type.String({ description: 'The rule or setting that decided, as text.' }),
    Intention: Type.Optional(intentionSchema),
  },
  { title: 'IntentionCheck' },
);

/** Requires `config:read` on the destination. @throws ServiceError `bad-request` */
export function checkIntention(credentials: Credentials, context: RequestContext, query: Query): Evaluate {
  const { state, policy, edition } = credentials;
  const call = readServiceCall(query, edition);
  const { destination, sourcePeer } = call;
  return (snapshot) => {
    const { caller, partition: named } = resolveCaller(credentials, snapshot, context);
    authorize(caller, { resource: 'config', access: 'read', partition: named, name: destination });
    const partition = existingPartition(snapshot, named);
    const { sourcePartition } = call;
    // Only for a caller that may read something there, so that others cannot probe which partitions exist ([SVC-114]).
    if (sourcePartition !== undefined && permitsAnyName(caller.grants, 'config', 'read', sourcePartition)) {
      existingPartition(snapshot, sourcePartition);
    }
    const names = [...new Set([destination, WILDCARD])];
    const rows = names.map((name) => state.watchRow(configEntries, entryKey(partition, 'service-intentions', name)));
    const peers = sourcePeer === undefined ? [] : [state.watchEntry(peerings, 'partition', partitionKey(partition))];
    const mayKnow = (name: string): boolean =>
      permits(caller.grants, { resource: 'peering', access: 'read', partition, name });
    const missing =
      sourcePeer !== undefined && mayKnow(sourcePeer) && !isActivePeer(snapshot, partition, sourcePeer)
        ? sourcePeer
        : undefined;
    return {
      ...waitOptionsOf(caller),
      watched: [...rows, ...peers],
      body: () => decisionToJson(decide(snapshot, { ...call, partition }, isAllowedByDefault(policy)), policy, missing),
    };
  };
}

/** Whether a call without a matching intention is allowed ([SVC-89]). */
export const isAllowedByDefault = ({ enabled, defaultPolicy }: AclPolicy): boolean =>
  !enabled || defaultPolicy === 'allow';

/** @param missing the source's peer, if it has no active peering and the caller may know */
function decisionToJson(
  { allowed, rule }: Decision,
  policy: AclPolicy,
  missing: string | undefined,
): Readonly<Static<typeof intentionCheckSchema>> {
  if (rule !== undefined) return { Allowed: allowed, Reason: reasonOf(rule), Intention: intentionToJson(rule) };
  const setting = policy.enabled ? `acl.default-policy is ${policy.defaultPolicy}` : 'acl.enabled is false';
  const because =
    missing === undefined ? 'no intention matches' : `there is no peer "${missing}": no intention matches`;
  return { Allowed: allowed, Reason: `${because}, and ${setting}` };
}

function reasonOf({ entry, source }: Rule): string {
  const from = source.peer === undefined ? '' : ` of peer "${source.peer}"`;
  return `service-intentions "${entry.name}": source "${source.name}"${from}, ${source.action}`;
}
