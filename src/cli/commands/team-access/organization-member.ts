/** `accord organization list-members`, `add-member`, `remove-member`: who is in an organization at all. */
import type { Command } from 'commander';
import { withApiConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { collect } from '../../input/repeated.ts';
import { print, printable, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { type Api, type ApiOptions, apiPath, bodyOf, connectApi, type Resource, relatedId } from './api.ts';
import { leafOf } from './leaf.ts';
import { teamIn } from './references.ts';

interface AddOptions extends ApiOptions {
  readonly team?: readonly string[];
}

type Membership = Resource<{ readonly email: string | null; readonly status: string }>;

/** A membership with the name of its user. */
interface Member {
  readonly membership: Membership;
  readonly username: string;
}

/** Adds the commands. */
export function addOrganizationMemberCommands(group: Command, shell: Shell): void {
  const leaf = leafOf(group);
  withApiConnection(leaf('list-members <name>', 'shows who is in an organization')).action(
    (name: string, options: ApiOptions) => list(shell, name, options),
  );
  withApiConnection(
    leaf('add-member <name> <email>', 'brings somebody into an organization, by their e-mail address').option(
      '--team <team>',
      'a team of it that they join at once; repeat it for several',
      collect,
    ),
  ).action((name: string, email: string, options: AddOptions) => add(shell, name, email, options));
  withApiConnection(
    group
      .command('remove-member <name> <user>')
      .description('takes somebody out of an organization and its teams, by username or e-mail address'),
  ).action((name: string, user: string, options: ApiOptions) => remove(shell, name, user, options));
}

const pathOf = (organization: string): string => apiPath('organizations', organization, 'organization-memberships');

async function readMembers(api: Api, organization: string, q?: string): Promise<readonly Member[]> {
  const { data, included = [] } = await api.readAll<Membership>({
    path: pathOf(organization),
    about: `organization ${organization}`,
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
  const found = await Promise.all((options.team ?? []).map((team) => teamIn(api, organization, team)));
  const teams = { data: found.map(({ id }) => ({ id, type: 'teams' })) };
  const { data: membership, included = [] } = await api.read<Membership>({
    method: 'POST',
    path: pathOf(organization),
    about: `organization ${organization}`,
    body: bodyOf('organization-memberships', { email }, { teams }),
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
  const about = `${user} in organization ${organization}`;
  if (member === undefined) throw new CommandError('refused', `${about}: not found, or you may not see it`);
  const path = apiPath('organization-memberships', member.membership.id);
  await api.send({ method: 'DELETE', path, about });
  note(shell, `Took ${printable(member.username)} out of organization ${organization} and its teams.`);
}

const tabulate = (members: readonly Member[]): string =>
  table(
    ['USERNAME', 'E-MAIL', 'STATUS', 'ID'],
    members.map(({ username, membership: { id, attributes } }) => [
      username,
      attributes.email ?? '',
      attributes.status,
      id,
    ]),
  );
