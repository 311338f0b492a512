/** `accord organization …` */
import type { Command } from 'commander';
import { withApiConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { details, print, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { type ApiOptions, apiPath, bodyOf, connectApi, type Resource } from './api.ts';
import { leafOf } from './leaf.ts';
import { addOrganizationMemberCommands } from './organization-member.ts';

interface OrganizationOptions extends ApiOptions {
  readonly name?: string;
  readonly email?: string;
  readonly plan?: string;
}

type Organization = Resource<{
  readonly name: string;
  readonly email: string;
  readonly plan: string;
  readonly 'external-id': string;
  readonly 'created-at': string;
}>;

/** Adds the group. */
export function addOrganizationCommands(program: Command, shell: Shell): void {
  const group = program.command('organization').description('organizations: who has workspaces and teams');
  const leaf = leafOf(group);

  withApiConnection(leaf('list', 'shows the organizations that you are in')).action((options: ApiOptions) =>
    list(shell, options),
  );
  withApiConnection(leaf('show <name>', 'shows an organization')).action((name: string, options: ApiOptions) =>
    show(shell, name, options),
  );
  withApiConnection(
    leaf('create <name>', 'makes an organization, which you own').requiredOption(
      '--email <address>',
      'whom to write to about it',
    ),
  ).action((name: string, options: OrganizationOptions) => create(shell, name, options));
  withApiConnection(
    leaf('update <name>', 'changes an organization; what is not given stays')
      .option('--name <name>', 'its new name')
      .option('--email <address>', 'whom to write to about it')
      .option('--plan <plan>', 'standard, or free, which has no teams; for site administrators'),
  ).action((name: string, options: OrganizationOptions) => update(shell, name, options));
  withApiConnection(group.command('delete <name>').description('deletes an organization with everything in it')).action(
    (name: string, options: ApiOptions) => remove(shell, name, options),
  );
  addOrganizationMemberCommands(group, shell);
}

const aboutOf = (name: string): string => `organization ${name}`;

async function list(shell: Shell, options: ApiOptions): Promise<void> {
  const { data } = await connectApi(shell, options).readAll<Organization>({
    path: apiPath('organizations'),
    about: 'organizations',
  });
  print(shell, options, data, tabulate);
}

async function show(shell: Shell, name: string, options: ApiOptions): Promise<void> {
  const call = { method: 'GET', path: apiPath('organizations', name), about: aboutOf(name) } as const;
  print(shell, options, (await connectApi(shell, options).read<Organization>(call)).data, describe);
}

async function create(shell: Shell, name: string, options: OrganizationOptions): Promise<void> {
  const body = bodyOf('organizations', { name, email: options.email });
  const call = { method: 'POST', path: apiPath('organizations'), about: aboutOf(name), body } as const;
  print(shell, options, (await connectApi(shell, options).read<Organization>(call)).data, describe);
}

async function update(shell: Shell, name: string, options: OrganizationOptions): Promise<void> {
  const { name: newName, email, plan } = options;
  if (newName === undefined && email === undefined && plan === undefined) {
    throw new CommandError('usage', 'nothing to change: give --name, --email or --plan');
  }
  const body = bodyOf('organizations', { name: newName, email, plan });
  const call = { method: 'PATCH', path: apiPath('organizations', name), about: aboutOf(name), body } as const;
  print(shell, options, (await connectApi(shell, options).read<Organization>(call)).data, describe);
}

async function remove(shell: Shell, name: string, options: ApiOptions): Promise<void> {
  const about = aboutOf(name);
  await connectApi(shell, options).send({ method: 'DELETE', path: apiPath('organizations', name), about });
  note(shell, `Deleted ${about}.`);
}

const describe = ({ attributes }: Organization): string =>
  details([
    ['Name', attributes.name],
    ['ID', attributes['external-id']],
    ['E-mail', attributes.email],
    ['Plan', attributes.plan],
    ['Created', attributes['created-at']],
  ]);

const tabulate = (organizations: readonly Organization[]): string =>
  table(
    ['NAME', 'PLAN', 'E-MAIL', 'ID'],
    organizations.map(({ attributes: { name, plan, email, 'external-id': id } }) => [name, plan, email, id]),
  );
