/** Who is in a team, by their ids. */
import type { Reader } from '../../state/memory/reader.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import { teamMembers } from '../tables/team-member.ts';

/** The members of a team, as users and by their memberships, in the same order. */
export interface Members {
  readonly userIds: readonly string[];
  readonly membershipIds: readonly string[];
}

/**
 * In a snapshot they are looked up once for as long as nobody comes or goes: a page of teams can have hundreds of
 * thousands, and everybody in the organization may ask for it.
 */
export function membersOf(reader: Reader, teamId: string): Members {
  const read = (): Members => {
    const members = reader.list(teamMembers, 'team', teamId);
    return {
      userIds: members.map(({ row }) => row.userId),
      membershipIds: members.map(({ row }) => row.membershipId),
    };
  };
  // While owners are in doubt, members are gone whose rows are still in the table.
  return isSnapshot(reader) && !reader.ownersInDoubt ? reader.memoWhile(teamMembers, teamId, read) : read();
}

const isSnapshot = (reader: Reader): reader is Snapshot => 'memoWhile' in reader;
