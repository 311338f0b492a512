/** `accord team …` */
import type { Command } from 'commander';
import { withApiConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { collect } from '../../input/repeated.ts';
import { details, print, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { type ApiOptions, apiPath, bodyOf, connectApi, type Resource, relatedId } from './api.ts';
import { leafOf, REFERENCE_HELP } from './leaf.ts';
import { findTeam, parseNamed, type TeamAttributes } from './references.ts';
import { addTeamMemberCommands } from './team-member.ts';
import { type PermissionOptions, permissionsHeld, permissionsIn, requirePermissions } from './team-permissions.ts';

type Team = Resource<TeamAttributes>;

interface TeamOptions extends ApiOptions, PermissionOptions {
  readonly name?: string;
  readonly description?: string;
  readonly visibility?: string;
  readonly memberTokens?: boolean;
}

/** Adds the group. */
export function addTeamCommands(program: Command, shell: Shell): void {
  const group = program.command('team').description('teams: who gets access to workspaces');
  const leaf = leafOf(group);

  withApiConnection(leaf('list <organization>', 'shows the teams of an organization that you see')).action(
    (organization: string, options: ApiOptions) => list(shell, organization, options),
  );
  withApiConnection(leaf('show <team>', 'shows a team with its members'))
    .addHelpText('after', REFERENCE_HELP)
    .action((team: string, options: ApiOptions) => show(shell, team, options));
  withApiConnection(withContent(leaf('create <organization/name>', 'makes a team'))).action(
    (team: string, options: TeamOptions) => create(shell, team, options),
  );
  withApiConnection(
    withContent(leaf('update <team>', 'changes a team; what is not given stays'))
      .option('--name <name>', 'its new name')
      .option('--forbid <permission>', 'takes a permission away; repeat it for several', collect),
  )
    .addHelpText('after', REFERENCE_HELP)
    .action((team: string, options: TeamOptions) => update(shell, team, options));
  withApiConnection(group.command('delete <team>').description('deletes a team with its access and its tokens'))
    .addHelpText('after', REFERENCE_HELP)
    .action((team: string, options: ApiOptions) => remove(shell, team, options));
  addTeamMemberCommands(group, shell);
}

const withContent = (command: Command): Command =>
  command
    .option('--description <text>', 'what it is for')
    .option('--visibility <visibility>', 'secret, or organization: everybody in it sees the team')
    .option(
      '--allow <permission>',
      'lets it do something in the whole organization, such as manage-workspaces; repeat it for several',
      collect,
    )
    .option('--member-tokens', "lets members make and revoke the team's tokens")
    .option('--no-member-tokens', 'leaves these to owners');

async function list(shell: Shell, organization: string, options: ApiOptions): Promise<void> {
  const path = apiPath('organizations', organization, 'teams');
  const { data } = await connectApi(shell, options).readAll<Team>({ path, about: `organization ${organization}` });
  print(shell, options, data, tabulate);
}

async function show(shell: Shell, named: string, options: ApiOptions): Promise<void> {
  const { team, included } = await findTeam(connectApi(shell, options), named, 'users');
  const members = included.map(({ attributes }) => String(attributes['username']));
  print(shell, options, team, () => describe(team, members));
}

async function create(shell: Shell, named: string, options: TeamOptions): Promise<void> {
  const { organization, name } = parseNamed('team', named);
  const api = connectApi(shell, options);
  const path = apiPath('organizations', organization, 'teams');
  const about = `organization ${organization}`;
  if (options.allow !== undefined) {
    const { data } = await api.read<readonly Team[]>({ method: 'GET', path, about, query: { 'page[size]': 1 } });
    requirePermissions(options, data[0]);
  }
  const body = bodyOf('teams', { name, ...attributesOf(options) });
  print(shell, options, (await api.read<Team>({ method: 'POST', path, about, body })).data, describe);
}

async function update(shell: Shell, named: string, options: TeamOptions): Promise<void> {
  const attributes = { name: options.name, ...attributesOf(options) };
  if (Object.values(attributes).every((value) => value === undefined)) {
    throw new CommandError('usage', 'nothing to change: give what should be different, such as --description');
  }
  const api = connectApi(shell, options);
  const { team } = await findTeam(api, named);
  requirePermissions(options, team);
  const path = apiPath('teams', team.id);
  const call = { method: 'PATCH', path, about: `team ${named}`, body: bodyOf('teams', attributes) } as const;
  print(shell, options, (await api.read<Team>(call)).data, describe);
}

async function remove(shell: Shell, named: string, options: ApiOptions): Promise<void> {
  const api = connectApi(shell, options);
  const { team } = await findTeam(api, named);
  await api.send({ method: 'DELETE', path: apiPath('teams', team.id), about: `team ${named}` });
  note(shell, `Deleted team ${named}.`);
}

const attributesOf = (options: TeamOptions) => ({
  description: options.description,
  visibility: options.visibility,
  'allow-member-token-management': options.memberTokens,
  'organization-access': permissionsIn(options),
});

/** @param members their names; their number where these are not known */
function describe(team: Team, members?: readonly string[]): string {
  const { attributes, id } = team;
  return details([
    ['Name', attributes.name],
    ['ID', id],
    ['Organization', relatedId(team, 'organization')],
    ['Description', attributes.description ?? undefined],
    ['Visibility', attributes.visibility],
    ['Members', members === undefined ? String(attributes['users-count']) : members.join(', ')],
    ['Permissions', permissionsHeld(team).join(', ')],
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
      permissionsHeld(team).join(' '),
      team.attributes.description ?? '',
    ]),
  );
