/** Team access: the access of one team to one workspace ([TEAM-2]). */
import { defineTable } from '../../state/table.ts';
import type { Access } from './access.ts';
import { teams } from './team.ts';
import { workspaces } from './workspace.ts';

/** A row. Contains attributes only for `custom`; `attributesOf` returns all of them. */
export type TeamWorkspace = Access & {
  /** `tws-` and 16 letters or digits. */
  readonly id: string;
  readonly teamId: string;
  readonly workspaceId: string;
  /** Time from which the row does not exist, in milliseconds since 1970. Absent when it does not expire. */
  readonly expiresAtMs?: number;
  /** Position within its commit, because lists are in order of creation. */
  readonly place: number;
};

export const teamWorkspaces = defineTable<TeamWorkspace>()({
  name: 'team-workspaces',
  key: (row) => row.id,
  formats: { version: 1 },
  indexes: {
    team: { entry: (row) => row.teamId },
    workspace: { entry: (row) => row.workspaceId },
    pair: { entry: ({ teamId, workspaceId }) => teamWorkspacePair(teamId, workspaceId), unique: true },
  },
  owners: [
    { table: teams, index: 'team' },
    { table: workspaces, index: 'workspace' },
  ],
  expiresAt: (row) => row.expiresAtMs,
});

/** Returns the index entry for a team's row on a workspace. */
export const teamWorkspacePair = (teamId: string, workspaceId: string): string => `${teamId}/${workspaceId}`;
