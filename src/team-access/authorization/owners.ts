/** Who owns an organization: never nobody who could act. */
import { users } from '../../credentials/user.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { JsonApiError } from '../jsonapi/errors.ts';
import { type Organization, organizations } from '../tables/organization.ts';
import { memberships } from '../tables/organization-membership.ts';
import { memberKey, teamMembers } from '../tables/team-member.ts';

type AnyOrganization = DeepReadonly<Organization>;

/** Owners looked at in one go: usually one of the first can act. */
const PAGE_ROWS = 16;

/**
 * Refuses to let an owner go when nobody would be left who can open the organization. Who was invited and has had no
 * token yet cannot.
 * @throws JsonApiError `forbidden`
 */
export function checkOwnerLeft(reader: Reader, organization: AnyOrganization, leaving: string): void {
  const teamId = organization.ownersTeamId;
  const couldAct = isClaimed(reader, leaving);
  for (let after = ''; ; ) {
    const page = reader.list(teamMembers, 'team', teamId, { after, limit: PAGE_ROWS });
    const left = page.some(({ row: { userId } }) => userId !== leaving && (!couldAct || isClaimed(reader, userId)));
    if (left) return;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_ROWS) break;
    after = memberKey(teamId, last.row.userId);
  }
  const detail = `the last owner of the organization '${organization.name}' cannot go`;
  throw new JsonApiError([{ code: 'forbidden', detail }]);
}

const isClaimed = (reader: Reader, userId: string): boolean => {
  const user = reader.get(users, userId)?.row;
  return user !== undefined && user.unclaimed !== true;
};

/** Whether a user is in the team that owns an organization. */
export const isOwner = (reader: Reader, { ownersTeamId }: AnyOrganization, userId: string): boolean =>
  reader.get(teamMembers, memberKey(ownersTeamId, userId)) !== undefined;

/** The organizations that a user is in. */
export const organizationsOf = (reader: Reader, userId: string): readonly AnyOrganization[] =>
  reader
    .list(memberships, 'user', userId)
    .map(({ row }) => reader.get(organizations, row.organizationId)?.row)
    .filter((organization) => organization !== undefined);
