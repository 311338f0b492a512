/** `accord workspace`: workspaces. */
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
import { findWorkspace, parseQualifiedName, type WorkspaceAttributes, workspacePath } from '../../client/references.ts';
import { CommandError } from '../../errors.ts';
import { type ConfirmationOptions, requireConfirmation, withConfirmation } from '../../input/confirm.ts';
import { details, print, printable, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { REFERENCE_HELP, subcommandsOf } from '../subcommand.ts';

type Workspace = Resource<WorkspaceAttributes>;

interface WorkspaceOptions extends ApiOptions {
  readonly name?: string;
  readonly description?: string;
}

export function addWorkspaceCommands(program: Command, shell: Shell): void {
  const group = program.command('workspace').description('Manage workspaces, which teams get access to');
  const subcommand = subcommandsOf(group);
  const description = ['--description <text>', 'description of the workspace'] as const;

  withApiConnection(
    subcommand('list <organization>', 'List the workspaces of an organization that you have access to'),
  ).action((organization: string, options: ApiOptions) => list(shell, organization, options));
  withApiConnection(subcommand('show <workspace>', 'Show a workspace'))
    .addHelpText('after', REFERENCE_HELP)
    .action((named: string, options: ApiOptions) => show(shell, named, options));
  withApiConnection(subcommand('create <organization/name>', 'Create a workspace').option(...description)).action(
    (named: string, options: WorkspaceOptions) => create(shell, named, options),
  );
  withApiConnection(
    subcommand('update <workspace>', 'Update the given properties of a workspace')
      .option('--name <name>', 'new name')
      .option(...description),
  )
    .addHelpText('after', REFERENCE_HELP)
    .action((named: string, options: WorkspaceOptions) => update(shell, named, options));
  withApiConnection(
    withConfirmation(group.command('delete <workspace>').description('Delete a workspace and all access to it')),
  )
    .addHelpText('after', REFERENCE_HELP)
    .action((named: string, options: ApiOptions & ConfirmationOptions) => remove(shell, named, options));
}

async function list(shell: Shell, organization: string, options: ApiOptions): Promise<void> {
  const path = apiPath('organizations', organization, 'workspaces');
  const { data } = await connectApi(shell, options).readAll<Workspace>({
    path,
    subject: `organization ${organization}`,
  });
  print(shell, options, data, tabulate);
}

async function show(shell: Shell, named: string, options: ApiOptions): Promise<void> {
  const { workspace } = await findWorkspace(connectApi(shell, options), named);
  print(shell, options, workspace, describe);
}

async function create(shell: Shell, named: string, options: WorkspaceOptions): Promise<void> {
  const { organization, name } = parseQualifiedName('workspace', named);
  const { data } = await connectApi(shell, options).read<Workspace>({
    method: 'POST',
    path: apiPath('organizations', organization, 'workspaces'),
    subject: `organization ${organization}`,
    body: requestBody('workspaces', { name, description: options.description }),
  });
  print(shell, options, data, describe);
}

async function update(shell: Shell, named: string, options: WorkspaceOptions): Promise<void> {
  const { name, description } = options;
  if (name === undefined && description === undefined) {
    throw new CommandError('usage', 'nothing to change: give --name or --description');
  }
  const body = requestBody('workspaces', { name, description });
  const call = { method: 'PATCH', path: workspacePath(named), subject: `workspace ${named}`, body } as const;
  print(shell, options, (await connectApi(shell, options).read<Workspace>(call)).data, describe);
}

async function remove(shell: Shell, named: string, options: ApiOptions & ConfirmationOptions): Promise<void> {
  const subject = `workspace ${named}`;
  await requireConfirmation(shell, options, `Delete ${printable(subject)} and all access to it?`);
  await connectApi(shell, options).send({ method: 'DELETE', path: workspacePath(named), subject });
  note(shell, `Deleted ${subject}.`);
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
