/** What a team may do on a workspace: the rows that the five endpoints are about. */
import { defineTable } from '../../state/table.ts';
import type { Access } from './access.ts';
import { teams } from './team.ts';
import { workspaces } from './workspace.ts';

/** The attributes are kept only where the level does not give them: `attributesOf` tells all of them. */
export type TeamWorkspace = Access & {
  /** `tws-` and 16 letters or digits. */
  readonly id: string;
  readonly teamId: string;
  readonly workspaceId: string;
  /** Milliseconds since 1970 from which on it does not exist; absent: never. */
  readonly expiresAtMs?: number;
  /** Its place among what the same commit made: lists are in order of creation. */
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

/** The entry of a team's row on a workspace. */
export const teamWorkspacePair = (teamId: string, workspaceId: string): string => `${teamId}/${workspaceId}`;
