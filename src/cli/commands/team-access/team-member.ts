/** `accord team add-member`, `remove-member` */
import type { Command } from 'commander';
import { withApiConnection } from '../../client/connection.ts';
import { note, type Shell } from '../../shell.ts';
import { type ApiOptions, apiPath, connectApi } from './api.ts';
import { REFERENCE_HELP } from './leaf.ts';
import { findTeam } from './references.ts';

/** Adds the commands. */
export function addTeamMemberCommands(group: Command, shell: Shell): void {
  withApiConnection(
    group.command('add-member <team> <users...>').description('puts members of the organization into a team'),
  )
    .addHelpText('after', `\nUsers are named by their usernames.${REFERENCE_HELP}`)
    .action((team: string, users: readonly string[], options: ApiOptions) =>
      change(shell, 'POST', team, users, options),
    );
  withApiConnection(
    group
      .command('remove-member <team> <users...>')
      .description('takes users out of a team; they stay in the organization'),
  )
    .addHelpText('after', `\nUsers are named by their usernames.${REFERENCE_HELP}`)
    .action((team: string, users: readonly string[], options: ApiOptions) =>
      change(shell, 'DELETE', team, users, options),
    );
}

/** All of them in one change, or none. */
async function change(
  shell: Shell,
  method: 'POST' | 'DELETE',
  named: string,
  users: readonly string[],
  options: ApiOptions,
): Promise<void> {
  const api = connectApi(shell, options);
  const { team } = await findTeam(api, named);
  const who = users.join(', ');
  await api.send({
    method,
    path: apiPath('teams', team.id, 'relationships', 'users'),
    about: `membership of ${who} in team ${named}`,
    body: { data: users.map((id) => ({ type: 'users', id })) },
  });
  note(shell, method === 'POST' ? `${who}: in team ${named}.` : `${who}: not in team ${named} any more.`);
}
