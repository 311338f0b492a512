/** `accord organization leave` and `take-ownership`: how an owner leaves, and how site administrators step in. */
import type { Command } from 'commander';
import { type ApiOptions, apiPath, connectApi } from '../../client/api-client.ts';
import { withApiConnection } from '../../client/connection.ts';
import { note, type Shell } from '../../shell.ts';
import { findOwnMembership } from './own-membership.ts';

interface LeaveOptions extends ApiOptions {
  readonly transferTo?: string;
  readonly toSiteAdministrators?: boolean;
}

export function addOrganizationOwnerCommands(group: Command, shell: Shell): void {
  withApiConnection(
    group
      .command('leave <name>')
      .description('End your own membership of an organization')
      .option('--transfer-to <user>', 'member who becomes an owner in the same commit')
      .option('--to-site-administrators', 'as its last owner, leave the organization to the site administrators'),
  )
    .addHelpText('after', '\nExample:\n  accord organization leave acme --transfer-to ben')
    .action((name: string, options: LeaveOptions) => leave(shell, name, options));
  withApiConnection(
    group
      .command('take-ownership <name>')
      .description('Become an owner of any organization (site administrators only)'),
  ).action((name: string, options: ApiOptions) => takeOwnership(shell, name, options));
}

async function leave(shell: Shell, name: string, options: LeaveOptions): Promise<void> {
  const api = connectApi(shell, options);
  const subject = `your membership of organization ${name}`;
  const path = apiPath('organization-memberships', (await findOwnMembership(api, 'active', name)).id);
  const query = {
    'transfer-to': options.transferTo,
    'leave-to-site-administrators': options.toSiteAdministrators === true ? 'true' : undefined,
  };
  await api.send({ method: 'DELETE', path, subject, query });
  note(shell, `Left organization ${name}.`);
}

async function takeOwnership(shell: Shell, name: string, options: ApiOptions): Promise<void> {
  const path = `${apiPath('admin', 'organizations', name)}/actions/take-ownership`;
  await connectApi(shell, options).send({ method: 'POST', path, subject: `organization ${name}` });
  note(shell, `You own organization ${name}.`);
}
