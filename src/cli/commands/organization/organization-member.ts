/** `accord organization list-members`, `add-member`, and `remove-member`: memberships of organizations. */
import type { Command } from 'commander';
import {
  type ApiClient,
  type ApiOptions,
  apiPath,
  connectApi,
  type Resource,
  relatedId,
  requestBody,
} from '../../client/api-client.ts';
import { withApiConnection } from '../../client/connection.ts';
import { findTeamInOrganization } from '../../client/references.ts';
import { CommandError } from '../../errors.ts';
import { collect } from '../../input/repeatable-options.ts';
import { print, printable, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { subcommandsOf } from '../subcommand.ts';

interface AddOptions extends ApiOptions {
  readonly team?: readonly string[];
}

type Membership = Resource<{ readonly email: string | null; readonly status: string }>;

interface Member {
  readonly membership: Membership;
  readonly username: string;
}

export function addOrganizationMemberCommands(group: Command, shell: Shell): void {
  const subcommand = subcommandsOf(group);
  withApiConnection(subcommand('list-members <name>', 'List the members of an organization')).action(
    (name: string, options: ApiOptions) => list(shell, name, options),
  );
  withApiConnection(
    subcommand('add-member <name> <email>', 'Add a user to an organization, by email address').option(
      '--team <team>',
      'team of the organization that the user joins; may be repeated',
      collect,
    ),
  ).action((name: string, email: string, options: AddOptions) => add(shell, name, email, options));
  withApiConnection(
    group
      .command('remove-member <name> <user>')
      .description('Remove a user, by username or email address, from an organization and its teams'),
  ).action((name: string, user: string, options: ApiOptions) => remove(shell, name, user, options));
}

const pathOf = (organization: string): string => apiPath('organizations', organization, 'organization-memberships');

async function readMembers(api: ApiClient, organization: string, q?: string): Promise<readonly Member[]> {
  const { data, included = [] } = await api.readAll<Membership>({
    path: pathOf(organization),
    subject: `organization ${organization}`,
    query: { include: 'user', q },
  });
  const names = new Map(included.map(({ id, attributes }) => [id, String(attributes['username'])]));
  return data.map((membership) => ({ membership, username: names.get(relatedId(membership, 'user')) ?? '' }));
}

async function list(shell: Shell, organization: string, options: ApiOptions): Promise<void> {
  const members = await readMembers(connectApi(shell, options), organization);
  const memberships = members.map(({ membership }) => membership);
  print(shell, options, memberships, () => tabulate(members));
}

async function add(shell: Shell, organization: string, email: string, options: AddOptions): Promise<void> {
  const api = connectApi(shell, options);
  const found = await Promise.all((options.team ?? []).map((team) => findTeamInOrganization(api, organization, team)));
  const teams = { data: found.map(({ id }) => ({ id, type: 'teams' })) };
  const { data: membership, included = [] } = await api.read<Membership>({
    method: 'POST',
    path: pathOf(organization),
    subject: `organization ${organization}`,
    body: requestBody('organization-memberships', { email }, { teams }),
  });
  const username = String(included[0]?.attributes['username'] ?? '');
  print(shell, options, membership, () => tabulate([{ membership, username }]));
}

async function remove(shell: Shell, organization: string, user: string, options: ApiOptions): Promise<void> {
  const api = connectApi(shell, options);
  const wanted = user.toLowerCase();
  const members = await readMembers(api, organization, user);
  const member = members.find(
    ({ username, membership }) =>
      username.toLowerCase() === wanted || membership.attributes.email?.toLowerCase() === wanted,
  );
  const subject = `${user} in organization ${organization}`;
  if (member === undefined) throw new CommandError('failed', `${subject}: not found, or you may not see it`);
  const path = apiPath('organization-memberships', member.membership.id);
  await api.send({ method: 'DELETE', path, subject });
  note(shell, `Removed ${printable(member.username)} from organization ${organization} and its teams.`);
}

const tabulate = (members: readonly Member[]): string =>
  table(
    ['USERNAME', 'EMAIL', 'STATUS', 'ID'],
    members.map(({ username, membership: { id, attributes } }) => [
      username,
      attributes.email ?? '',
      attributes.status,
      id,
    ]),
  );
