/** `accord workspace …` */
import type { Command } from 'commander';
import { withApiConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { details, print, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { type ApiOptions, apiPath, bodyOf, connectApi, type Resource, relatedId } from './api.ts';
import { leafOf, REFERENCE_HELP } from './leaf.ts';
import { findWorkspace, parseNamed, type WorkspaceAttributes, workspacePath } from './references.ts';

type Workspace = Resource<WorkspaceAttributes>;

interface WorkspaceOptions extends ApiOptions {
  readonly name?: string;
  readonly description?: string;
}

/** Adds the group. */
export function addWorkspaceCommands(program: Command, shell: Shell): void {
  const group = program.command('workspace').description('workspaces: what teams get access to');
  const leaf = leafOf(group);
  const description = ['--description <text>', 'what it is for'] as const;

  withApiConnection(leaf('list <organization>', 'shows the workspaces that you have access to')).action(
    (organization: string, options: ApiOptions) => list(shell, organization, options),
  );
  withApiConnection(leaf('show <workspace>', 'shows a workspace'))
    .addHelpText('after', REFERENCE_HELP)
    .action((named: string, options: ApiOptions) => show(shell, named, options));
  withApiConnection(leaf('create <organization/name>', 'makes a workspace').option(...description)).action(
    (named: string, options: WorkspaceOptions) => create(shell, named, options),
  );
  withApiConnection(
    leaf('update <workspace>', 'changes a workspace; what is not given stays')
      .option('--name <name>', 'its new name')
      .option(...description),
  )
    .addHelpText('after', REFERENCE_HELP)
    .action((named: string, options: WorkspaceOptions) => update(shell, named, options));
  withApiConnection(group.command('delete <workspace>').description('deletes a workspace with all access to it'))
    .addHelpText('after', REFERENCE_HELP)
    .action((named: string, options: ApiOptions) => remove(shell, named, options));
}

async function list(shell: Shell, organization: string, options: ApiOptions): Promise<void> {
  const path = apiPath('organizations', organization, 'workspaces');
  const { data } = await connectApi(shell, options).readAll<Workspace>({ path, about: `organization ${organization}` });
  print(shell, options, data, tabulate);
}

async function show(shell: Shell, named: string, options: ApiOptions): Promise<void> {
  const { workspace } = await findWorkspace(connectApi(shell, options), named);
  print(shell, options, workspace, describe);
}

async function create(shell: Shell, named: string, options: WorkspaceOptions): Promise<void> {
  const { organization, name } = parseNamed('workspace', named);
  const { data } = await connectApi(shell, options).read<Workspace>({
    method: 'POST',
    path: apiPath('organizations', organization, 'workspaces'),
    about: `organization ${organization}`,
    body: bodyOf('workspaces', { name, description: options.description }),
  });
  print(shell, options, data, describe);
}

async function update(shell: Shell, named: string, options: WorkspaceOptions): Promise<void> {
  const { name, description } = options;
  if (name === undefined && description === undefined) {
    throw new CommandError('usage', 'nothing to change: give --name or --description');
  }
  const body = bodyOf('workspaces', { name, description });
  const call = { method: 'PATCH', path: workspacePath(named), about: `workspace ${named}`, body } as const;
  print(shell, options, (await connectApi(shell, options).read<Workspace>(call)).data, describe);
}

async function remove(shell: Shell, named: string, options: ApiOptions): Promise<void> {
  const about = `workspace ${named}`;
  await connectApi(shell, options).send({ method: 'DELETE', path: workspacePath(named), about });
  note(shell, `Deleted ${about}.`);
}

const describe = (workspace: Workspace): string =>
  details([
    ['Name', workspace.attributes.name],
    ['ID', workspace.id],
    ['Organization', relatedId(workspace, 'organization')],
    ['Description', workspace.attributes.description ?? undefined],
    ['Created', workspace.attributes['created-at']],
    ['Updated', workspace.attributes['updated-at']],
  ]);

const tabulate = (workspaces: readonly Workspace[]): string =>
  table(
    ['NAME', 'ID', 'DESCRIPTION'],
    workspaces.map(({ id, attributes: { name, description } }) => [name, id, description ?? '']),
  );
