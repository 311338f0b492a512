/** Who is in which team. It goes with the team, and with the user's membership of the organization. */
import { defineTable } from '../../state/table.ts';
import { memberships } from './organization-membership.ts';
import { teams } from './team.ts';

export interface TeamMember {
  readonly teamId: string;
  readonly userId: string;
  readonly membershipId: string;
}

export const teamMembers = defineTable<TeamMember>()({
  name: 'team-members',
  key: ({ teamId, userId }) => memberKey(teamId, userId),
  formats: { version: 1 },
  indexes: {
    team: { entry: (member) => member.teamId },
    user: { entry: (member) => member.userId },
    membership: { entry: (member) => member.membershipId },
  },
  owners: [
    { table: teams, index: 'team' },
    { table: memberships, index: 'membership' },
  ],
});

/** The key of a user's being in a team. */
export const memberKey = (teamId: string, userId: string): string => `${teamId}/${userId}`;
