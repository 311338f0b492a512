/** The JSON of an audit entry in the trail of its organization [TEAM-99 to TEAM-104]. */
import { Type } from 'typebox';
import { type AuditEntry, SYSTEM } from '../../audit/record.ts';
import { users } from '../../credentials/user.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { TEAM_WORKSPACES } from '../documents/team-workspace-to-json.ts';
import { serviceAccountName } from '../documents/user-to-json.ts';
import { organizations } from '../tables/organization.ts';
import { teams } from '../tables/team.ts';

const count = Type.Integer({ minimum: 0 });
const page = Type.Union([Type.Integer({ minimum: 1 }), Type.Null()]);

export const trailPageSchema = Type.Object(
  {
    data: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          version: Type.Literal('0'),
          type: Type.Literal('Resource'),
          timestamp: Type.String({ description: 'RFC 3339' }),
          auth: Type.Object({
            accessor_id: Type.String({ description: 'The actor: the ID of a user, a team, or an organization.' }),
            description: Type.String({ description: 'The name of the actor. Empty if the actor no longer exists.' }),
            type: Type.Enum(['Client', 'System'], { description: 'System: a change by the server itself.' }),
            impersonator_id: Type.Null(),
            organization_id: Type.String(),
          }),
          request: Type.Object({
            id: Type.String(),
            address: Type.String({ description: 'The remote address. Empty for the server itself.' }),
          }),
          resource: Type.Object({
            id: Type.String(),
            type: Type.String({ description: 'Such as workspace, team, organization_membership.' }),
            action: Type.String({
              description:
                'Such as create, update, destroy; of workspaces add_team, update_team_permissions, remove_team.',
            }),
            meta: Type.Record(Type.String(), Type.Unknown(), {
              description: 'The resource before and after the change. Null where it did not exist.',
            }),
          }),
        },
        { title: 'AuditTrailEntry' },
      ),
    ),
    pagination: Type.Object({
      current_page: Type.Integer({ minimum: 1 }),
      prev_page: page,
      next_page: page,
      total_pages: Type.Integer({ minimum: 1 }),
      total_count: count,
    }),
  },
  { title: 'AuditTrailPage' },
);

type Entry = DeepReadonly<AuditEntry>;

export function entryToJson(reader: Reader, entry: Entry) {
  return {
    id: entry.id,
    version: '0',
    type: 'Resource',
    timestamp: entry.time,
    auth: {
      accessor_id: entry.actor,
      description: actorName(reader, entry.actor),
      type: entry.actor === SYSTEM.actor ? 'System' : 'Client',
      impersonator_id: null,
      organization_id: entry.organizationId ?? '',
    },
    request: { id: entry.requestId, address: entry.address },
    resource: entry.type === TEAM_WORKSPACES ? rowChangeToJson(entry) : changeToJson(entry),
  };
}

/** Returns the current name of an actor [TEAM-100]. */
function actorName(reader: Reader, actor: string): string {
  const user = reader.get(users, actor)?.row;
  if (user !== undefined) return user.username;
  const team = reader.get(teams, actor)?.row;
  if (team !== undefined) return serviceAccountName({ type: 'teams', name: team.name });
  const organization = reader.get(organizations, actor)?.row;
  if (organization !== undefined) return serviceAccountName({ type: 'organizations', name: organization.name });
  return actor === SYSTEM.actor ? actor : '';
}

/** A row as `change-team-workspace.ts` records it. */
interface RecordedRow {
  readonly team: string;
  readonly workspace: string;
  readonly permissions: unknown;
}

/** Reports the change of a row as a change of its workspace, and an expired row as removed [TEAM-102]. */
function rowChangeToJson({ subject, action, ...entry }: Entry) {
  const before = entry.before as RecordedRow | null;
  const after = entry.after as RecordedRow | null;
  return {
    id: (after ?? before)?.workspace ?? '',
    type: 'workspace',
    action: action === 'expire' ? 'remove_team' : action,
    meta: {
      team: (after ?? before)?.team ?? '',
      team_workspace: subject,
      permissions: { before: before?.permissions ?? null, after: after?.permissions ?? null },
    },
  };
}

/** Reports another change. Types such as `organization-memberships` become `organization_membership` [TEAM-101]. */
const changeToJson = ({ subject, type, action, before, after }: Entry) => ({
  id: subject,
  type: type.replaceAll('-', '_').replace(/s$/, ''),
  action: action === 'expire' ? 'destroy' : action,
  meta: { before, after },
});
