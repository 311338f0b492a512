/** `accord organization`: organizations. */
import type { Command } from 'commander';
import { type ApiOptions, apiPath, connectApi, type Resource, requestBody } from '../../client/api-client.ts';
import { withApiConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { type ConfirmationOptions, requireConfirmation, withConfirmation } from '../../input/confirm.ts';
import { parseBoolean } from '../../input/parse-boolean.ts';
import { details, print, printable, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { subcommandsOf } from '../subcommand.ts';
import { addOrganizationInvitationCommands } from './organization-invitation.ts';
import { addOrganizationMemberCommands } from './organization-member.ts';
import { addOrganizationOwnerCommands } from './organization-owner.ts';

/** The description of `--all`. */
const ALL = 'among all organizations, also those that you are not a member of (site administrators only)';

interface AllOptions extends ApiOptions {
  readonly all?: boolean;
}

interface OrganizationOptions extends ApiOptions {
  readonly name?: string;
  readonly email?: string;
  readonly plan?: string;
  readonly userTokens?: string;
}

type DeleteOptions = AllOptions & ConfirmationOptions;

type Organization = Resource<{
  readonly name: string;
  readonly email: string;
  readonly plan: string;
  readonly 'user-tokens-enabled': boolean;
  readonly 'external-id': string;
  readonly 'created-at': string;
}>;

export function addOrganizationCommands(program: Command, shell: Shell): void {
  const group = program.command('organization').description('Manage organizations, which own teams and workspaces');
  const subcommand = subcommandsOf(group);

  withApiConnection(subcommand('list', 'List the organizations that you are a member of').option('--all', ALL)).action(
    (options: AllOptions) => list(shell, options),
  );
  withApiConnection(subcommand('show <name>', 'Show an organization').option('--all', ALL)).action(
    (name: string, options: AllOptions) => show(shell, name, options),
  );
  withApiConnection(
    subcommand('create <name>', 'Create an organization that you own').requiredOption(
      '--email <address>',
      'contact address of the organization',
    ),
  ).action((name: string, options: OrganizationOptions) => create(shell, name, options));
  withApiConnection(
    subcommand('update <name>', 'Update the given properties of an organization')
      .option('--name <name>', 'new name')
      .option('--email <address>', 'contact address of the organization')
      .option('--plan <plan>', 'standard or free; free has no teams (site administrators only)')
      .option('--user-tokens <boolean>', 'false refuses the tokens of users in the organization; true accepts them'),
  ).action((name: string, options: OrganizationOptions) => update(shell, name, options));
  withApiConnection(
    withConfirmation(
      group.command('delete <name>').description('Delete an organization with everything in it').option('--all', ALL),
    ),
  ).action((name: string, options: DeleteOptions) => remove(shell, name, options));
  addOrganizationMemberCommands(group, shell);
  addOrganizationInvitationCommands(group, shell);
  addOrganizationOwnerCommands(group, shell);
}

/** Returns the path of organizations: the caller's own, or with `--all` every one. */
const pathOf = ({ all }: AllOptions, ...segments: readonly string[]): string =>
  all === true ? apiPath('admin', 'organizations', ...segments) : apiPath('organizations', ...segments);

const subjectOf = (name: string): string => `organization ${name}`;

async function list(shell: Shell, options: AllOptions): Promise<void> {
  const { data } = await connectApi(shell, options).readAll<Organization>({
    path: pathOf(options),
    subject: 'organizations',
  });
  print(shell, options, data, tabulate);
}

async function show(shell: Shell, name: string, options: AllOptions): Promise<void> {
  const call = { method: 'GET', path: pathOf(options, name), subject: subjectOf(name) } as const;
  print(shell, options, (await connectApi(shell, options).read<Organization>(call)).data, describe);
}

async function create(shell: Shell, name: string, options: OrganizationOptions): Promise<void> {
  const body = requestBody('organizations', { name, email: options.email });
  const call = { method: 'POST', path: apiPath('organizations'), subject: subjectOf(name), body } as const;
  print(shell, options, (await connectApi(shell, options).read<Organization>(call)).data, describe);
}

async function update(shell: Shell, name: string, options: OrganizationOptions): Promise<void> {
  const { name: newName, email, plan, userTokens } = options;
  const attributes = { name: newName, email, plan, 'user-tokens-enabled': parseBoolean(userTokens) };
  if (Object.values(attributes).every((value) => value === undefined)) {
    throw new CommandError('usage', 'nothing to change: give --name, --email, --plan or --user-tokens');
  }
  const body = requestBody('organizations', attributes);
  const call = { method: 'PATCH', path: apiPath('organizations', name), subject: subjectOf(name), body } as const;
  print(shell, options, (await connectApi(shell, options).read<Organization>(call)).data, describe);
}

async function remove(shell: Shell, name: string, options: DeleteOptions): Promise<void> {
  const subject = subjectOf(name);
  await requireConfirmation(shell, options, `Delete ${printable(subject)} with all its teams, workspaces and tokens?`);
  await connectApi(shell, options).send({ method: 'DELETE', path: pathOf(options, name), subject });
  note(shell, `Deleted ${subject}.`);
}

const describe = ({ attributes }: Organization): string =>
  details([
    ['Name', attributes.name],
    ['ID', attributes['external-id']],
    ['Email', attributes.email],
    ['Plan', attributes.plan],
    ['User tokens', attributes['user-tokens-enabled'] ? undefined : 'refused'],
    ['Created', attributes['created-at']],
  ]);

const tabulate = (organizations: readonly Organization[]): string =>
  table(
    ['NAME', 'PLAN', 'EMAIL', 'ID'],
    organizations.map(({ attributes: { name, plan, email, 'external-id': id } }) => [name, plan, email, id]),
  );
