/** `accord api-token`: API tokens of users, teams, and organizations. */
import type { Command } from 'commander';
import {
  type ApiClient,
  type ApiOptions,
  apiPath,
  connectApi,
  relatedId,
  requestBody,
} from '../../client/api-client.ts';
import { withApiConnection } from '../../client/connection.ts';
import { findTeam, readTeamNames } from '../../client/references.ts';
import { CommandError } from '../../errors.ts';
import { type ConfirmationOptions, requireConfirmation, withConfirmation } from '../../input/confirm.ts';
import { print, printable, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { REFERENCE_HELP, subcommandsOf } from '../subcommand.ts';
import {
  type OwnerOptions,
  organizationOwner,
  readOwnUserId,
  readSingleToken,
  rejectBothOwners,
  resolveOwner,
  type Token,
} from './token-owner.ts';

interface CreateOptions extends OwnerOptions {
  readonly description?: string;
  readonly expiresAt?: string;
  readonly replace?: boolean;
}

const OWNER_HELP = '\nWithout --team and --organization, the command applies to your own tokens.';

export function addApiTokenCommands(program: Command, shell: Shell): void {
  const group = program.command('api-token').description('Manage API tokens of users, teams, and organizations');
  const subcommand = subcommandsOf(group);
  const teamOption = ['--team <team>', 'team that owns the token'] as const;

  withApiConnection(
    subcommand('list', 'List tokens without their secrets')
      .option(...teamOption)
      .option('--organization <name>', 'list tokens of the organization and its teams that you may manage'),
  )
    .addHelpText('after', OWNER_HELP + REFERENCE_HELP)
    .action((options: OwnerOptions) => list(shell, options));
  withApiConnection(
    subcommand('create', 'Create a token and print it')
      .option(...teamOption)
      .option('--organization <name>', 'organization that owns the token')
      .option('--description <text>', 'description; a team has at most one token without a description')
      .option('--expires-at <time>', 'expiration time, such as 2030-01-31T00:00:00Z (default: never)')
      .option('--replace', "revoke the organization's token, or the team's token without a description, first"),
  )
    .addHelpText(
      'after',
      `${OWNER_HELP}${REFERENCE_HELP}\nThe token is not shown again.\n\nExample:\n  accord api-token create --team acme/dev --description ci > ci.token`,
    )
    .action((options: CreateOptions) => create(shell, options));
  withApiConnection(
    withConfirmation(group.command('revoke <token-id>').description('Revoke a token; it stops working immediately')),
  ).action((id: string, options: ApiOptions & ConfirmationOptions) => revoke(shell, id, options));
}

interface TokenList {
  readonly tokens: readonly Token[];
  readonly ownerName: (token: Token) => string;
}

async function list(shell: Shell, options: OwnerOptions): Promise<void> {
  rejectBothOwners(options);
  const api = connectApi(shell, options);
  const { tokens, ownerName } = await readTokens(api, options);
  print(shell, options, tokens, () => tabulate(tokens, ownerName));
}

async function readTokens(api: ApiClient, { team, organization }: OwnerOptions): Promise<TokenList> {
  if (team !== undefined) {
    const { team: found } = await findTeam(api, team);
    const path = apiPath('teams', found.id, 'authentication-tokens');
    const { data } = await api.readAll<Token>({ path, subject: `tokens of team ${team}` });
    return { tokens: data, ownerName: () => `team ${found.attributes.name}` };
  }
  if (organization === undefined) {
    const path = apiPath('users', await readOwnUserId(api), 'authentication-tokens');
    const { data } = await api.readAll<Token>({ path, subject: 'your tokens' });
    return { tokens: data, ownerName: () => 'you' };
  }
  const own = await readSingleToken(api, organizationOwner(organization));
  const path = apiPath('organizations', organization, 'team-tokens');
  const { data } = await api.readAll<Token>({ path, subject: `organization ${organization}` });
  const names = await readTeamNames(api, organization);
  const ownerName = (token: Token): string => {
    const teamId = relatedId(token, 'team');
    return teamId === '' ? 'the organization' : `team ${names.get(teamId) ?? teamId}`;
  };
  return { tokens: own === undefined ? data : [own, ...data], ownerName };
}

async function create(shell: Shell, options: CreateOptions): Promise<void> {
  rejectBothOwners(options);
  const api = connectApi(shell, options);
  const { description, expiresAt, replace = false } = options;
  const owner = await resolveOwner(api, options);
  // The API's POST replaces an existing token; this command requires --replace for it. The check is not atomic.
  if (owner.isSingle && !replace && (await readSingleToken(api, owner)) !== undefined) {
    throw new CommandError('failed', `${owner.subject} already exists: give --replace to revoke it first`);
  }
  const body = requestBody('authentication-tokens', { description, 'expired-at': expiresAt });
  const { data: token } = await api.read<Token>({ method: 'POST', path: owner.path, subject: owner.subject, body });
  print(shell, options, token, ({ attributes }) => `${printable(attributes.token ?? '')}\n`);
  note(shell, `Created token ${printable(token.id)}. It is not shown again.`);
}

async function revoke(shell: Shell, id: string, options: ApiOptions & ConfirmationOptions): Promise<void> {
  const subject = `token ${id}`;
  await requireConfirmation(shell, options, `Revoke ${printable(subject)}?`);
  await connectApi(shell, options).send({ method: 'DELETE', path: apiPath('authentication-tokens', id), subject });
  note(shell, `Revoked ${subject}.`);
}

const tabulate = (tokens: readonly Token[], ownerName: (token: Token) => string): string =>
  table(
    ['ID', 'OWNER', 'CREATED', 'LAST USED', 'EXPIRES', 'DESCRIPTION'],
    tokens.map((token) => [
      token.id,
      ownerName(token),
      token.attributes['created-at'],
      token.attributes['last-used-at'] ?? 'never',
      token.attributes['expired-at'] ?? 'never',
      token.attributes.description ?? '',
    ]),
  );
