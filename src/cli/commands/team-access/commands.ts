/** The commands of team access: everything that asks `/api/v2`. */
import type { Command } from 'commander';
import type { Shell } from '../../shell.ts';
import { addAccessCommands } from './access.ts';
import { addApiTokenCommands } from './api-token.ts';
import { addOrganizationCommands } from './organization.ts';
import { addRowCommands } from './row.ts';
import { addTeamCommands } from './team.ts';
import { addUserCommands } from './user.ts';
import { addWorkspaceCommands } from './workspace.ts';

/** Adds all groups. */
export function addTeamAccessCommands(program: Command, shell: Shell): void {
  addOrganizationCommands(program, shell);
  addTeamCommands(program, shell);
  addWorkspaceCommands(program, shell);
  addRowCommands(program, shell);
  addAccessCommands(program, shell);
  addUserCommands(program, shell);
  addApiTokenCommands(program, shell);
}
