/** `accord user tokens` and `revoke-tokens`: the tokens of teams and organizations that a user created. */
import type { Command } from 'commander';
import { type ApiOptions, apiPath, connectApi, type Resource, relatedId } from '../../client/api-client.ts';
import { withApiConnection } from '../../client/connection.ts';
import { print, printable, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { subcommandsOf } from '../subcommand.ts';
import { pathOfUser } from './find-user.ts';

type Token = Resource<{
  readonly description: string | null;
  readonly 'created-at': string;
  readonly 'last-used-at': string | null;
  readonly 'expired-at': string | null;
}>;

interface RevokeOptions extends ApiOptions {
  readonly id?: string;
}

const BY_ID = 'Name a deleted user by ID; accord audit shows it.';

export function addUserTokenCommands(group: Command, shell: Shell): void {
  const subcommand = subcommandsOf(group);
  withApiConnection(subcommand('tokens <user>', 'List the tokens of teams and organizations that a user created'))
    .addHelpText('after', `\n${BY_ID}\n\nExample:\n  accord user tokens ada`)
    .action((user: string, options: ApiOptions) => list(shell, user, options));
  withApiConnection(
    group
      .command('revoke-tokens <user>')
      .description('Revoke the tokens of teams and organizations that a user created')
      .option('--id <token>', 'only the token with this ID'),
  )
    .addHelpText('after', `\n${BY_ID}\n\nExample:\n  accord user revoke-tokens ada`)
    .action((user: string, options: RevokeOptions) => revoke(shell, user, options));
}

async function list(shell: Shell, user: string, options: ApiOptions): Promise<void> {
  const api = connectApi(shell, options);
  const path = `${await pathOfUser(api, user)}/authentication-tokens`;
  print(shell, options, (await api.readAll<Token>({ path, subject: `user ${user}` })).data, tabulate);
}

async function revoke(shell: Shell, user: string, { id, ...options }: RevokeOptions): Promise<void> {
  const api = connectApi(shell, options);
  const subject = id === undefined ? `user ${user}` : `token ${id} of user ${user}`;
  const path = `${await pathOfUser(api, user)}/authentication-tokens${id === undefined ? '' : apiPath(id)}`;
  await api.send({ method: 'DELETE', path, subject });
  note(shell, id === undefined ? `Revoked the tokens of ${printable(subject)}.` : `Revoked ${printable(subject)}.`);
}

const tabulate = (tokens: readonly Token[]): string =>
  table(
    ['ID', 'ORGANIZATION', 'TEAM', 'DESCRIPTION', 'CREATED', 'LAST USED', 'EXPIRES'],
    tokens.map((token) => [
      token.id,
      relatedId(token, 'organization'),
      relatedId(token, 'team'),
      token.attributes.description ?? '',
      token.attributes['created-at'],
      token.attributes['last-used-at'] ?? 'never',
      token.attributes['expired-at'] ?? 'never',
    ]),
  );
