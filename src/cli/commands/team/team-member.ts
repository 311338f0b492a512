/** `accord team add-member` and `remove-member`: members of teams. */
import type { Command } from 'commander';
import { type ApiOptions, apiPath, connectApi } from '../../client/api-client.ts';
import { withApiConnection } from '../../client/connection.ts';
import { findTeam } from '../../client/references.ts';
import { note, type Shell } from '../../shell.ts';
import { REFERENCE_HELP } from '../subcommand.ts';

export function addTeamMemberCommands(group: Command, shell: Shell): void {
  withApiConnection(
    group.command('add-member <team> <users...>').description('Add members of the organization to a team'),
  )
    .addHelpText('after', `\nUsers are given by username.${REFERENCE_HELP}`)
    .action((team: string, users: readonly string[], options: ApiOptions) =>
      change(shell, 'POST', team, users, options),
    );
  withApiConnection(
    group
      .command('remove-member <team> <users...>')
      .description('Remove users from a team; they remain in the organization'),
  )
    .addHelpText('after', `\nUsers are given by username.${REFERENCE_HELP}`)
    .action((team: string, users: readonly string[], options: ApiOptions) =>
      change(shell, 'DELETE', team, users, options),
    );
}

/** Adds or removes all users atomically. */
async function change(
  shell: Shell,
  method: 'POST' | 'DELETE',
  named: string,
  users: readonly string[],
  options: ApiOptions,
): Promise<void> {
  const api = connectApi(shell, options);
  const { team } = await findTeam(api, named);
  const names = users.join(', ');
  await api.send({
    method,
    path: apiPath('teams', team.id, 'relationships', 'users'),
    subject: `membership of ${names} in team ${named}`,
    body: { data: users.map((id) => ({ type: 'users', id })) },
  });
  note(shell, method === 'POST' ? `Added ${names} to team ${named}.` : `Removed ${names} from team ${named}.`);
}
