/** `accord organization list-invitations`, `accept`, and `decline`: invitations of the caller. */
import type { Command } from 'commander';
import { type ApiOptions, apiPath, connectApi, relatedId } from '../../client/api-client.ts';
import { withApiConnection } from '../../client/connection.ts';
import { print, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { subcommandsOf } from '../subcommand.ts';
import { findOwnMembership, type OwnMembership, readOwnMemberships } from './own-membership.ts';

export function addOrganizationInvitationCommands(group: Command, shell: Shell): void {
  withApiConnection(
    subcommandsOf(group)('list-invitations', 'List your invitations to organizations that await acceptance'),
  ).action((options: ApiOptions) => list(shell, options));
  withApiConnection(group.command('accept <name>').description('Accept your invitation to an organization'))
    .addHelpText('after', '\nExample:\n  accord organization accept acme')
    .action((name: string, options: ApiOptions) => accept(shell, name, options));
  withApiConnection(group.command('decline <name>').description('Decline your invitation to an organization')).action(
    (name: string, options: ApiOptions) => decline(shell, name, options),
  );
}

async function list(shell: Shell, options: ApiOptions): Promise<void> {
  print(shell, options, await readOwnMemberships(connectApi(shell, options), 'invited'), tabulate);
}

const subjectOf = (name: string): string => `your invitation to organization ${name}`;

async function accept(shell: Shell, name: string, options: ApiOptions): Promise<void> {
  const api = connectApi(shell, options);
  const { id, attributes } = await findOwnMembership(api, 'invited', name);
  const path = `${apiPath('organization-memberships', id)}/actions/accept`;
  await api.send({ method: 'POST', path, subject: subjectOf(name) });
  note(shell, `Joined organization ${name}${attributes['is-owner'] ? ' as an owner' : ''}.`);
}

async function decline(shell: Shell, name: string, options: ApiOptions): Promise<void> {
  const api = connectApi(shell, options);
  const { id } = await findOwnMembership(api, 'invited', name);
  await api.send({ method: 'DELETE', path: apiPath('organization-memberships', id), subject: subjectOf(name) });
  note(shell, `Declined the invitation to organization ${name}.`);
}

const tabulate = (invitations: readonly OwnMembership[]): string =>
  table(
    ['ORGANIZATION', 'AS OWNER', 'EMAIL', 'ID'],
    invitations.map((invitation) => [
      relatedId(invitation, 'organization'),
      invitation.attributes['is-owner'] ? 'yes' : '',
      invitation.attributes.email ?? '',
      invitation.id,
    ]),
  );
