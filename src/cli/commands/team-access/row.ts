/** `accord team-access …`: the rows that give teams access to workspaces. */
import type { Command } from 'commander';
import { withApiConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { print } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { apiPath, bodyOf, connectApi } from './api.ts';
import { addApplyCommand } from './apply.ts';
import { findRow, findRows, type RowOptions } from './find-row.ts';
import { leafOf, REFERENCE_HELP } from './leaf.ts';
import { findWorkspace, teamIn } from './references.ts';
import { describeRow, type Row, tabulateRows, unknownAmong, unknownWords } from './row-attributes.ts';

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

const LEVEL_HELP = '\nLevels: read, plan, write, admin; custom, with which each attribute is given by itself.';
const EITHER_HELP = '\nA row is named by --workspace and --team, or by its ID.';

/** Adds the group. */
export function addRowCommands(program: Command, shell: Shell): void {
  const group = program.command('team-access').description('which team may do what on which workspace');
  const leaf = leafOf(group);

  withApiConnection(withPair(leaf('list', 'shows the rows of a workspace, of a team, or of both')))
    .addHelpText('after', REFERENCE_HELP)
    .action((options: RowOptions) => list(shell, options));
  withApiConnection(withPair(leaf('show [id]', 'shows a row')))
    .addHelpText('after', EITHER_HELP + REFERENCE_HELP)
    .action((id: string | undefined, options: RowOptions) => show(shell, id, options));
  withApiConnection(withContent(withPair(leaf('add', 'gives a team access to a workspace'))))
    .addHelpText('after', LEVEL_HELP + REFERENCE_HELP)
    .action((options: ContentOptions) => add(shell, options));
  withApiConnection(withContent(withPair(leaf('update [id]', 'changes a row; what is not given stays'))))
    .addHelpText('after', LEVEL_HELP + EITHER_HELP + REFERENCE_HELP)
    .action((id: string | undefined, options: ContentOptions) => update(shell, id, options));
  withApiConnection(withPair(group.command('remove [id]').description("takes a team's access to a workspace away")))
    .addHelpText('after', EITHER_HELP + REFERENCE_HELP)
    .action((id: string | undefined, options: RowOptions) => remove(shell, id, options));
  addApplyCommand(leaf, shell);
}

const withPair = (command: Command): Command =>
  command
    .option('--workspace <workspace>', 'the workspace')
    .option('--team <team>', 'the team; beside --workspace its name alone is enough');

const withContent = (command: Command): Command =>
  command
    .option('--access <level>', 'the level')
    .option('--runs <value>', 'custom: read, plan or apply')
    .option('--variables <value>', 'custom: none, read or write')
    .option('--state-versions <value>', 'custom: none, read-outputs, read or write')
    .option('--policy-mocks <value>', 'custom: none or read')
    .option('--workspace-locking <boolean>', 'custom: true or false')
    .option('--run-tasks <boolean>', 'custom: true or false')
    .option('--sentinel-mocks <value>', 'custom, with compat: terraform: none or read')
    .option('--policy-overrides <boolean>', 'custom, with compat: terraform: true or false')
    .option('--expires-at <time>', 'when it ends by itself, such as 2030-01-31T00:00:00Z; never takes the end away');

const attributesOf = (options: ContentOptions) => ({
  access: options.access,
  runs: options.runs,
  variables: options.variables,
  'state-versions': options.stateVersions,
  'policy-mocks': options.policyMocks,
  'sentinel-mocks': options.sentinelMocks,
  'policy-overrides': booleanIn(options.policyOverrides),
  'workspace-locking': booleanIn(options.workspaceLocking),
  'run-tasks': booleanIn(options.runTasks),
  'expires-at': options.expiresAt === 'never' ? null : options.expiresAt,
});

/** What is neither is sent as it is: the server says what it wants. */
const booleanIn = (text: string | undefined): string | boolean | undefined =>
  text === 'true' || text === 'false' ? text === 'true' : text;

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
  const found = await teamIn(api, organization, team);
  const { data } = await api.read<Row>({
    method: 'POST',
    path: apiPath('team-workspaces'),
    about: `access of team ${team} to workspace ${fullName}`,
    body: bodyOf('team-workspaces', attributesOf(options), {
      workspace: { data: { type: 'workspaces', id: workspace.id } },
      team: { data: { type: 'teams', id: found.id } },
    }),
  });
  print(shell, options, data, (row) => describeRow(row, [workspace, found]));
  tellUnknown(shell, options, data);
}

async function update(shell: Shell, id: string | undefined, options: ContentOptions): Promise<void> {
  const attributes = attributesOf(options);
  if (Object.values(attributes).every((value) => value === undefined)) {
    throw new CommandError('usage', 'nothing to change: give what should be different, such as --access');
  }
  const api = connectApi(shell, options);
  const { row, included, about } = await findRow(api, id, options);
  const body = bodyOf('team-workspaces', attributes);
  const path = apiPath('team-workspaces', row.id);
  const { data } = await api.read<Row>({ method: 'PATCH', path, about, body });
  print(shell, options, data, (changed) => describeRow(changed, included));
  tellUnknown(shell, options, data);
}

/** Says what was given and the server has left aside. */
function tellUnknown(shell: Shell, options: ContentOptions, { attributes }: Row): void {
  const given = Object.entries(attributesOf(options)).filter(([, value]) => value !== undefined);
  const unknown = unknownAmong(
    given.map(([name]) => name),
    attributes,
  );
  if (unknown !== undefined) note(shell, `Not given: ${unknownWords(unknown)}.`);
}

async function remove(shell: Shell, id: string | undefined, options: RowOptions): Promise<void> {
  const api = connectApi(shell, options);
  const { row, about } = await findRow(api, id, options);
  await api.send({ method: 'DELETE', path: apiPath('team-workspaces', row.id), about });
  note(shell, `Removed ${about}.`);
}
