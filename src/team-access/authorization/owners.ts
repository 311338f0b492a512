/** Owners of organizations. Every organization keeps at least one owner who can use it. */
import { users } from '../../credentials/user.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { JsonApiError } from '../jsonapi/errors.ts';
import { type Organization, organizations } from '../tables/organization.ts';
import { memberships } from '../tables/organization-membership.ts';
import { teamMemberKey, teamMembers } from '../tables/team.ts';

type AnyOrganization = DeepReadonly<Organization>;

/** Owners per read. Usually one of the first has claimed their account. */
const PAGE_ROWS = 16;

/**
 * Rejects the removal of an owner when no owner with a claimed account would remain. An invited user who has never had
 * a token cannot use the organization.
 * @throws JsonApiError `forbidden`
 */
export function checkOwnerRemains(reader: Reader, organization: AnyOrganization, leaving: string): void {
  const teamId = organization.ownersTeamId;
  const leavingIsClaimed = isClaimed(reader, leaving);
  for (let after = ''; ; ) {
    const page = reader.list(teamMembers, 'team', teamId, { after, limit: PAGE_ROWS });
    const remains = page.some(
      ({ row: { userId } }) => userId !== leaving && (!leavingIsClaimed || isClaimed(reader, userId)),
    );
    if (remains) return;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_ROWS) break;
    after = teamMemberKey(teamId, last.row.userId);
  }
  const detail = `the last owner of the organization '${organization.name}' cannot be removed`;
  throw new JsonApiError([{ code: 'forbidden', detail }]);
}

const isClaimed = (reader: Reader, userId: string): boolean => {
  const user = reader.get(users, userId)?.row;
  return user !== undefined && user.unclaimed !== true;
};

export const isOwner = (reader: Reader, { ownersTeamId }: AnyOrganization, userId: string): boolean =>
  reader.get(teamMembers, teamMemberKey(ownersTeamId, userId)) !== undefined;

export const organizationsOfUser = (reader: Reader, userId: string): readonly AnyOrganization[] =>
  reader
    .list(memberships, 'user', userId)
    .map(({ row }) => reader.get(organizations, row.organizationId)?.row)
    .filter((organization) => organization !== undefined);
