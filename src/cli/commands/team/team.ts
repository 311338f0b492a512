/** `accord team`: teams and their organization-wide permissions. */
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
import { findTeam, parseQualifiedName, type TeamAttributes } from '../../client/references.ts';
import { CommandError } from '../../errors.ts';
import { type ConfirmationOptions, requireConfirmation, withConfirmation } from '../../input/confirm.ts';
import { collect } from '../../input/repeatable-options.ts';
import { details, print, printable, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { REFERENCE_HELP, subcommandsOf } from '../subcommand.ts';
import { addTeamMemberCommands } from './team-member.ts';

type Team = Resource<TeamAttributes>;

interface PermissionOptions {
  readonly allow?: readonly string[];
  readonly forbid?: readonly string[];
}

interface TeamOptions extends ApiOptions, PermissionOptions {
  readonly name?: string;
  readonly description?: string;
  readonly visibility?: string;
  readonly memberTokens?: boolean;
}

export function addTeamCommands(program: Command, shell: Shell): void {
  const group = program.command('team').description('Manage teams, which get access to workspaces');
  const subcommand = subcommandsOf(group);

  withApiConnection(subcommand('list <organization>', 'List the teams of an organization that you can see')).action(
    (organization: string, options: ApiOptions) => list(shell, organization, options),
  );
  withApiConnection(subcommand('show <team>', 'Show a team with its members'))
    .addHelpText('after', REFERENCE_HELP)
    .action((team: string, options: ApiOptions) => show(shell, team, options));
  withApiConnection(withContent(subcommand('create <organization/name>', 'Create a team'))).action(
    (team: string, options: TeamOptions) => create(shell, team, options),
  );
  withApiConnection(
    withContent(subcommand('update <team>', 'Update the given properties of a team'))
      .option('--name <name>', 'new name')
      .option('--forbid <permission>', 'organization-wide permission to revoke; may be repeated', collect),
  )
    .addHelpText('after', REFERENCE_HELP)
    .action((team: string, options: TeamOptions) => update(shell, team, options));
  withApiConnection(
    withConfirmation(group.command('delete <team>').description('Delete a team with its access and its tokens')),
  )
    .addHelpText('after', REFERENCE_HELP)
    .action((team: string, options: ApiOptions & ConfirmationOptions) => remove(shell, team, options));
  addTeamMemberCommands(group, shell);
}

const withContent = (command: Command): Command =>
  command
    .option('--description <text>', 'description of the team')
    .option('--visibility <visibility>', 'secret, or organization: visible to all members of the organization')
    .option(
      '--allow <permission>',
      'organization-wide permission to grant, such as manage-workspaces; may be repeated',
      collect,
    )
    .option('--member-tokens', "let members create and revoke the team's tokens")
    .option('--no-member-tokens', "let only owners manage the team's tokens");

async function list(shell: Shell, organization: string, options: ApiOptions): Promise<void> {
  const path = apiPath('organizations', organization, 'teams');
  const { data } = await connectApi(shell, options).readAll<Team>({ path, subject: `organization ${organization}` });
  print(shell, options, data, tabulate);
}

async function show(shell: Shell, named: string, options: ApiOptions): Promise<void> {
  const { team, included } = await findTeam(connectApi(shell, options), named, 'users');
  const members = included.map(({ attributes }) => String(attributes['username']));
  print(shell, options, team, () => describe(team, members));
}

async function create(shell: Shell, named: string, options: TeamOptions): Promise<void> {
  const { organization, name } = parseQualifiedName('team', named);
  const api = connectApi(shell, options);
  const path = apiPath('organizations', organization, 'teams');
  const subject = `organization ${organization}`;
  if (options.allow !== undefined) {
    const { data } = await api.read<readonly Team[]>({ method: 'GET', path, subject, query: { 'page[size]': 1 } });
    requireKnownPermissions(options, data[0]);
  }
  const body = requestBody('teams', { name, ...attributesOf(options) });
  print(shell, options, (await api.read<Team>({ method: 'POST', path, subject, body })).data, describe);
}

async function update(shell: Shell, named: string, options: TeamOptions): Promise<void> {
  const attributes = { name: options.name, ...attributesOf(options) };
  if (Object.values(attributes).every((value) => value === undefined)) {
    throw new CommandError('usage', 'nothing to change: give an option such as --description');
  }
  const api = connectApi(shell, options);
  const { team } = await findTeam(api, named);
  requireKnownPermissions(options, team);
  const path = apiPath('teams', team.id);
  const call = { method: 'PATCH', path, subject: `team ${named}`, body: requestBody('teams', attributes) } as const;
  print(shell, options, (await api.read<Team>(call)).data, describe);
}

async function remove(shell: Shell, named: string, options: ApiOptions & ConfirmationOptions): Promise<void> {
  await requireConfirmation(shell, options, `Delete team ${printable(named)} with its access and its tokens?`);
  const api = connectApi(shell, options);
  const { team } = await findTeam(api, named);
  await api.send({ method: 'DELETE', path: apiPath('teams', team.id), subject: `team ${named}` });
  note(shell, `Deleted team ${named}.`);
}

const attributesOf = (options: TeamOptions) => ({
  description: options.description,
  visibility: options.visibility,
  'allow-member-token-management': options.memberTokens,
  'organization-access': permissionChanges(options),
});

/** @param members the names of the members; without them, only their number is printed */
function describe(team: Team, members?: readonly string[]): string {
  const { attributes, id } = team;
  return details([
    ['Name', attributes.name],
    ['ID', id],
    ['Organization', relatedId(team, 'organization')],
    ['Description', attributes.description ?? undefined],
    ['Visibility', attributes.visibility],
    ['Members', members === undefined ? String(attributes['users-count']) : members.join(', ')],
    ['Permissions', grantedPermissions(team).join(', ')],
    ['Tokens by', attributes['allow-member-token-management'] ? 'owners and members' : 'owners'],
  ]);
}

const tabulate = (teams: readonly Team[]): string =>
  table(
    ['NAME', 'VISIBILITY', 'MEMBERS', 'ID', 'PERMISSIONS', 'DESCRIPTION'],
    teams.map((team) => [
      team.attributes.name,
      team.attributes.visibility,
      String(team.attributes['users-count']),
      team.id,
      grantedPermissions(team).join(' '),
      team.attributes.description ?? '',
    ]),
  );

/** Returns the permissions to grant and revoke, or `undefined` if the options name none. */
function permissionChanges({
  allow = [],
  forbid = [],
}: PermissionOptions): Readonly<Record<string, boolean>> | undefined {
  const changes = [
    ...allow.map((name): [string, boolean] => [name, true]),
    ...forbid.map((name): [string, boolean] => [name, false]),
  ];
  return changes.length === 0 ? undefined : Object.fromEntries(changes);
}

/**
 * Rejects unknown permissions. The API ignores them, so a typing error would go unnoticed.
 * @param team any team, whose attributes list all permissions; `undefined` if the caller sees no team
 * @throws CommandError `usage`
 */
function requireKnownPermissions(options: PermissionOptions, team: Team | undefined): void {
  if (team === undefined) return;
  const known = team.attributes['organization-access'];
  const unknown = Object.keys(permissionChanges(options) ?? {}).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  throw new CommandError(
    'usage',
    `unknown permission ${JSON.stringify(unknown)}: want ${Object.keys(known).join(', ')}`,
  );
}

const grantedPermissions = ({ attributes }: Team): readonly string[] =>
  Object.entries(attributes['organization-access'])
    .filter(([, isGranted]) => isGranted)
    .map(([name]) => name);
