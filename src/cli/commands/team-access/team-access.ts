/** `accord team-access`: the access of teams to workspaces. */
import type { Command } from 'commander';
import { apiPath, connectApi, requestBody } from '../../client/api-client.ts';
import { withApiConnection } from '../../client/connection.ts';
import { findTeamInOrganization, findWorkspace } from '../../client/references.ts';
import { CommandError } from '../../errors.ts';
import { parseBoolean } from '../../input/parse-boolean.ts';
import { print } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { REFERENCE_HELP, subcommandsOf } from '../subcommand.ts';
import { addApplyCommand } from './apply.ts';
import { findRow, findRows, type RowOptions } from './find-row.ts';
import { describeRow, firstIgnored, ignoredMessage, type Row, tabulateRows } from './row-attributes.ts';

interface ContentOptions extends RowOptions {
  readonly access?: string;
  readonly runs?: string;
  readonly variables?: string;
  readonly stateVersions?: string;
  readonly policyMocks?: string;
  readonly sentinelMocks?: string;
  readonly policyOverrides?: string;
  readonly workspaceLocking?: string;
  readonly runTasks?: string;
  readonly expiresAt?: string;
}

const LEVEL_HELP = '\nAccess levels: read, plan, write, admin, and custom. Attributes can be set only with custom.';
const EITHER_HELP = '\nGive --workspace and --team, or the ID of the team access.';
const ADD_EXAMPLE = '\n\nExample:\n  accord team-access add --workspace acme/billing --team platform --access write';

export function addTeamAccessCommands(program: Command, shell: Shell): void {
  const group = program.command('team-access').description('Manage the access of teams to workspaces');
  const subcommand = subcommandsOf(group);

  withApiConnection(withWorkspaceAndTeam(subcommand('list', 'List the team access of a workspace, a team, or both')))
    .addHelpText('after', REFERENCE_HELP)
    .action((options: RowOptions) => list(shell, options));
  withApiConnection(withWorkspaceAndTeam(subcommand('show [id]', 'Show the access of a team to a workspace')))
    .addHelpText('after', EITHER_HELP + REFERENCE_HELP)
    .action((id: string | undefined, options: RowOptions) => show(shell, id, options));
  withApiConnection(withContent(withWorkspaceAndTeam(subcommand('add', 'Give a team access to a workspace'))))
    .addHelpText('after', LEVEL_HELP + REFERENCE_HELP + ADD_EXAMPLE)
    .action((options: ContentOptions) => add(shell, options));
  withApiConnection(
    withContent(withWorkspaceAndTeam(subcommand('update [id]', 'Update the given properties of team access'))),
  )
    .addHelpText('after', LEVEL_HELP + EITHER_HELP + REFERENCE_HELP)
    .action((id: string | undefined, options: ContentOptions) => update(shell, id, options));
  withApiConnection(
    withWorkspaceAndTeam(group.command('remove [id]').description('Remove the access of a team to a workspace')),
  )
    .addHelpText('after', EITHER_HELP + REFERENCE_HELP)
    .action((id: string | undefined, options: RowOptions) => remove(shell, id, options));
  addApplyCommand(subcommand, shell);
}

const withWorkspaceAndTeam = (command: Command): Command =>
  command
    .option('--workspace <workspace>', 'workspace')
    .option('--team <team>', 'team; with --workspace, the name without the organization is enough');

const withContent = (command: Command): Command =>
  command
    .option('--access <level>', 'access level')
    .option('--runs <value>', 'custom: read, plan or apply')
    .option('--variables <value>', 'custom: none, read or write')
    .option('--state-versions <value>', 'custom: none, read-outputs, read or write')
    .option('--policy-mocks <value>', 'custom: none or read')
    .option('--workspace-locking <boolean>', 'custom: true or false')
    .option('--run-tasks <boolean>', 'custom: true or false')
    .option('--sentinel-mocks <value>', 'custom, with compat: terraform: none or read')
    .option('--policy-overrides <boolean>', 'custom, with compat: terraform: true or false')
    .option(
      '--expires-at <time>',
      'time until which the access lasts, such as 2030-01-31T00:00:00Z, or never; an update with --access then returns to the earlier level',
    );

const attributesOf = (options: ContentOptions) => ({
  access: options.access,
  runs: options.runs,
  variables: options.variables,
  'state-versions': options.stateVersions,
  'policy-mocks': options.policyMocks,
  'sentinel-mocks': options.sentinelMocks,
  'policy-overrides': parseBoolean(options.policyOverrides),
  'workspace-locking': parseBoolean(options.workspaceLocking),
  'run-tasks': parseBoolean(options.runTasks),
  'expires-at': options.expiresAt === 'never' ? null : options.expiresAt,
});

async function list(shell: Shell, options: RowOptions): Promise<void> {
  const found = await findRows(connectApi(shell, options), options);
  print(shell, options, found.rows, () => tabulateRows(found));
}

async function show(shell: Shell, id: string | undefined, options: RowOptions): Promise<void> {
  const { row, included } = await findRow(connectApi(shell, options), id, options);
  print(shell, options, row, (found) => describeRow(found, included));
}

async function add(shell: Shell, options: ContentOptions): Promise<void> {
  const { workspace: named, team } = options;
  if (named === undefined || team === undefined) throw new CommandError('usage', 'give --workspace and --team');
  const api = connectApi(shell, options);
  const { workspace, organization, fullName } = await findWorkspace(api, named);
  const found = await findTeamInOrganization(api, organization, team);
  const { data } = await api.read<Row>({
    method: 'POST',
    path: apiPath('team-workspaces'),
    subject: `access of team ${team} to workspace ${fullName}`,
    body: requestBody('team-workspaces', attributesOf(options), {
      workspace: { data: { type: 'workspaces', id: workspace.id } },
      team: { data: { type: 'teams', id: found.id } },
    }),
  });
  print(shell, options, data, (row) => describeRow(row, [workspace, found]));
  reportIgnored(shell, options, data);
}

async function update(shell: Shell, id: string | undefined, options: ContentOptions): Promise<void> {
  const attributes = attributesOf(options);
  if (Object.values(attributes).every((value) => value === undefined)) {
    throw new CommandError('usage', 'nothing to change: give an option such as --access');
  }
  const api = connectApi(shell, options);
  const { row, included, subject } = await findRow(api, id, options);
  const body = requestBody('team-workspaces', attributes);
  const path = apiPath('team-workspaces', row.id);
  const { data } = await api.read<Row>({ method: 'PATCH', path, subject, body });
  print(shell, options, data, (changed) => describeRow(changed, included));
  reportIgnored(shell, options, data);
}

function reportIgnored(shell: Shell, options: ContentOptions, { attributes }: Row): void {
  const given = Object.entries(attributesOf(options)).filter(([, value]) => value !== undefined);
  const ignored = firstIgnored(
    given.map(([name]) => name),
    attributes,
  );
  if (ignored !== undefined) note(shell, `Not set: ${ignoredMessage(ignored)}.`);
}

async function remove(shell: Shell, id: string | undefined, options: RowOptions): Promise<void> {
  const api = connectApi(shell, options);
  const { row, subject } = await findRow(api, id, options);
  await api.send({ method: 'DELETE', path: apiPath('team-workspaces', row.id), subject });
  note(shell, `Removed ${subject}.`);
}
