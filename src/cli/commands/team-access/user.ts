/** `accord user …` */
import type { Command } from 'commander';
import { withApiConnection } from '../../client/connection.ts';
import { details, print, printable, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { type ApiOptions, apiPath, bodyOf, connectApi, type Resource, relatedId } from './api.ts';
import { leafOf } from './leaf.ts';

type User = Resource<{
  readonly username: string;
  readonly email: string | null;
  readonly 'is-site-admin': boolean;
  readonly 'is-service-account': boolean;
  /** In the answer to its creation only. */
  readonly token?: string;
}>;

interface CreateOptions extends ApiOptions {
  readonly email: string;
  readonly siteAdmin?: boolean;
}

/** Adds the group. */
export function addUserCommands(program: Command, shell: Shell): void {
  const group = program.command('user').description('users of team access');
  const leaf = leafOf(group);
  withApiConnection(leaf('list', 'shows all users; for site administrators')).action((options: ApiOptions) =>
    list(shell, options),
  );
  withApiConnection(
    leaf('create <username>', "makes a user and prints the user's first token; for site administrators")
      .requiredOption('--email <address>', "the user's e-mail address, by which organizations take them in")
      .option('--site-admin', 'makes the user a site administrator'),
  )
    .addHelpText('after', '\nThe token is shown this once.')
    .action((username: string, options: CreateOptions) => create(shell, username, options));
  withApiConnection(
    group
      .command('delete <user>')
      .description('deletes a user, by username or ID, with their memberships and tokens; for site administrators'),
  ).action((user: string, options: ApiOptions) => remove(shell, user, options));
  withApiConnection(leaf('self', 'shows whose token is in use')).action((options: ApiOptions) => self(shell, options));
}

async function list(shell: Shell, options: ApiOptions): Promise<void> {
  const call = { path: apiPath('admin', 'users'), about: 'the list of all users' };
  print(shell, options, (await connectApi(shell, options).readAll<User>(call)).data, tabulate);
}

async function create(shell: Shell, username: string, options: CreateOptions): Promise<void> {
  const { email, siteAdmin } = options;
  const body = bodyOf('users', { username, email, 'is-site-admin': siteAdmin });
  const path = apiPath('admin', 'users');
  const call = { method: 'POST', path, about: 'the list of all users', body } as const;
  const { data: user } = await connectApi(shell, options).read<User>(call);
  // Alone on its line, so that it can be kept in a file or a variable.
  print(shell, options, user, ({ attributes }) => `${printable(attributes.token ?? '')}\n`);
  note(shell, `Made user ${printable(user.attributes.username)}. The token is not shown again.`);
}

async function remove(shell: Shell, named: string, options: ApiOptions): Promise<void> {
  const api = connectApi(shell, options);
  const users = apiPath('admin', 'users');
  const about = `user ${named}`;
  const { data } = await api.readAll<User>({ path: users, about, query: { q: named } });
  const found = data.find(({ attributes }) => attributes.username.toLowerCase() === named.toLowerCase());
  // What nobody is called can still be an ID.
  const path = found === undefined ? apiPath('admin', 'users', named) : apiPath('admin', 'users', found.id);
  await api.send({ method: 'DELETE', path, about });
  note(shell, `Deleted ${printable(about)}.`);
}

async function self(shell: Shell, options: ApiOptions): Promise<void> {
  const call = { method: 'GET', path: apiPath('account', 'details'), about: 'the account' } as const;
  print(shell, options, (await connectApi(shell, options).read<User>(call)).data, describe);
}

function describe(user: User): string {
  const { attributes } = user;
  return details([
    ['Username', attributes.username],
    ['ID', user.id],
    ['E-mail', attributes.email ?? undefined],
    ['Site administrator', attributes['is-site-admin'] ? 'yes' : 'no'],
    ['Acts for', attributes['is-service-account'] ? relatedId(user, 'authenticated-resource') : undefined],
  ]);
}

const tabulate = (users: readonly User[]): string =>
  table(
    ['USERNAME', 'E-MAIL', 'SITE ADMIN', 'ID'],
    users.map(({ id, attributes }) => [
      attributes.username,
      attributes.email ?? '',
      attributes['is-site-admin'] ? 'yes' : '',
      id,
    ]),
  );
