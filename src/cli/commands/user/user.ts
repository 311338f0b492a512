/** `accord user`: users. */
import type { Command } from 'commander';
import {
  type ApiOptions,
  apiPath,
  connectApi,
  type Resource,
  relatedId,
  requestBody,
} from '../../client/api-client.ts';
import { withApiConnection } from '../../client/connection.ts';
import { type ConfirmationOptions, requireConfirmation, withConfirmation } from '../../input/confirm.ts';
import { details, print, printable, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { subcommandsOf } from '../subcommand.ts';
import { pathOfUser } from './find-user.ts';
import { addUserTokenCommands } from './user-tokens.ts';

type User = Resource<{
  readonly username: string;
  readonly email: string | null;
  readonly 'is-site-admin': boolean;
  /** Only in responses to site administrators. */
  readonly 'is-suspended'?: boolean;
  readonly 'is-service-account': boolean;
  /** Only in the response to the creation. */
  readonly token?: string;
}>;

interface DeleteOptions extends ApiOptions, ConfirmationOptions {
  readonly transferTo?: string;
  readonly revokeCreated?: boolean;
}

interface CreateOptions extends ApiOptions {
  readonly email: string;
  readonly siteAdmin?: boolean;
}

export function addUserCommands(program: Command, shell: Shell): void {
  const group = program.command('user').description('Manage users of team access');
  const subcommand = subcommandsOf(group);
  withApiConnection(subcommand('list', 'List all users (site administrators only)')).action((options: ApiOptions) =>
    list(shell, options),
  );
  withApiConnection(
    subcommand('create <username>', 'Create a user and print a token for them (site administrators only)')
      .requiredOption('--email <address>', 'email address, by which organizations add the user')
      .option('--site-admin', 'make the user a site administrator'),
  )
    .addHelpText(
      'after',
      '\nThe token is not shown again.\n\nExample:\n  accord user create ada --email ada@example.org > ada.token',
    )
    .action((username: string, options: CreateOptions) => create(shell, username, options));
  withApiConnection(
    withConfirmation(
      group
        .command('delete <user>')
        .description('Delete a user, by username or ID, with all memberships and tokens (site administrators only)')
        .option('--transfer-to <user>', 'user who becomes the owner where the deleted user is the last one')
        .option('--revoke-created', 'also revoke the tokens of teams and organizations that the user created'),
    ),
  )
    .addHelpText('after', '\nExample:\n  accord user delete ada --transfer-to ben --revoke-created --yes')
    .action((user: string, options: DeleteOptions) => remove(shell, user, options));
  withApiConnection(
    subcommand('suspend <user>', 'Refuse the tokens of a user; memberships stay (site administrators only)'),
  ).action((user: string, options: ApiOptions) => setSuspended(shell, user, options, true));
  withApiConnection(
    subcommand('unsuspend <user>', 'Accept the tokens of a suspended user again (site administrators only)'),
  ).action((user: string, options: ApiOptions) => setSuspended(shell, user, options, false));
  addUserTokenCommands(group, shell);
  withApiConnection(subcommand('self', 'Show the user, team, or organization of the token')).action(
    (options: ApiOptions) => self(shell, options),
  );
}

async function list(shell: Shell, options: ApiOptions): Promise<void> {
  const call = { path: apiPath('admin', 'users'), subject: 'the list of all users' };
  print(shell, options, (await connectApi(shell, options).readAll<User>(call)).data, tabulate);
}

async function create(shell: Shell, username: string, options: CreateOptions): Promise<void> {
  const { email, siteAdmin } = options;
  const body = requestBody('users', { username, email, 'is-site-admin': siteAdmin });
  const path = apiPath('admin', 'users');
  const call = { method: 'POST', path, subject: 'the list of all users', body } as const;
  const { data: user } = await connectApi(shell, options).read<User>(call);
  // The only line of the output, so that it can be redirected to a file.
  print(shell, options, user, ({ attributes }) => `${printable(attributes.token ?? '')}\n`);
  note(shell, `Created user ${printable(user.attributes.username)}. The token is not shown again.`);
}

async function remove(shell: Shell, named: string, options: DeleteOptions): Promise<void> {
  const { transferTo, revokeCreated } = options;
  const subject = `user ${named}`;
  await requireConfirmation(shell, options, `Delete ${printable(subject)} with all memberships and tokens?`);
  const api = connectApi(shell, options);
  const query = { 'transfer-to': transferTo, 'revoke-created': revokeCreated === true ? 'true' : undefined };
  await api.send({ method: 'DELETE', path: await pathOfUser(api, named), subject, query });
  note(shell, `Deleted ${printable(subject)}.`);
}

async function setSuspended(shell: Shell, named: string, options: ApiOptions, suspended: boolean): Promise<void> {
  const api = connectApi(shell, options);
  const path = `${await pathOfUser(api, named)}/actions/${suspended ? 'suspend' : 'unsuspend'}`;
  print(shell, options, (await api.read<User>({ method: 'POST', path, subject: `user ${named}` })).data, describe);
}

async function self(shell: Shell, options: ApiOptions): Promise<void> {
  const call = { method: 'GET', path: apiPath('account', 'details'), subject: 'the account' } as const;
  print(shell, options, (await connectApi(shell, options).read<User>(call)).data, describe);
}

function describe(user: User): string {
  const { attributes } = user;
  return details([
    ['Username', attributes.username],
    ['ID', user.id],
    ['Email', attributes.email ?? undefined],
    ['Site administrator', attributes['is-site-admin'] ? 'yes' : 'no'],
    ['Suspended', attributes['is-suspended'] === true ? 'yes' : undefined],
    ['Acts for', attributes['is-service-account'] ? relatedId(user, 'authenticated-resource') : undefined],
  ]);
}

const tabulate = (users: readonly User[]): string =>
  table(
    ['USERNAME', 'EMAIL', 'SITE ADMIN', 'SUSPENDED', 'ID'],
    users.map(({ id, attributes }) => [
      attributes.username,
      attributes.email ?? '',
      attributes['is-site-admin'] ? 'yes' : '',
      attributes['is-suspended'] === true ? 'yes' : '',
      id,
    ]),
  );
