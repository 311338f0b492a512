/** `accord api-token …`: tokens of users, teams and organizations. */
import type { Command } from 'commander';
import { withApiConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { print, printable, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { type Api, type ApiOptions, apiPath, bodyOf, connectApi, relatedId } from './api.ts';
import { leafOf, REFERENCE_HELP } from './leaf.ts';
import { findTeam, teamNames } from './references.ts';
import {
  type OwnerOptions,
  organizationOwner,
  ownerOf,
  ownUserId,
  plainToken,
  refuseBoth,
  type Token,
} from './token-owner.ts';

interface CreateOptions extends OwnerOptions {
  readonly description?: string;
  readonly expiresAt?: string;
  readonly replace?: boolean;
}

const WHOSE = '\nYour own unless --team or --organization says whose.';

/** Adds the group. */
export function addApiTokenCommands(program: Command, shell: Shell): void {
  const group = program.command('api-token').description('tokens of team access: of users, teams and organizations');
  const leaf = leafOf(group);
  const ofTeam = ['--team <team>', 'of a team'] as const;

  withApiConnection(
    leaf('list', 'shows tokens, without their secrets')
      .option(...ofTeam)
      .option('--organization <name>', 'of an organization and its teams, as far as you manage them'),
  )
    .addHelpText('after', WHOSE + REFERENCE_HELP)
    .action((options: OwnerOptions) => list(shell, options));
  withApiConnection(
    leaf('create', 'makes a token and prints it')
      .option(...ofTeam)
      .option('--organization <name>', 'of an organization')
      .option('--description <text>', 'what it is for; a team has one token without, and any number with one')
      .option('--expires-at <time>', 'when it ends, such as 2030-01-31T00:00:00Z (default never)')
      .option('--replace', 'revokes the one token of the organization, or of the team without a description, first'),
  )
    .addHelpText('after', `${WHOSE}${REFERENCE_HELP}\nThe token is shown this once.`)
    .action((options: CreateOptions) => create(shell, options));
  withApiConnection(group.command('revoke <token-id>').description('revokes a token; it ends at once')).action(
    (id: string, options: ApiOptions) => revoke(shell, id, options),
  );
}

/** Tokens with whose they are. */
interface Listed {
  readonly tokens: readonly Token[];
  readonly whose: (token: Token) => string;
}

async function list(shell: Shell, options: OwnerOptions): Promise<void> {
  refuseBoth(options);
  const api = connectApi(shell, options);
  const { tokens, whose } = await readTokens(api, options);
  print(shell, options, tokens, () => tabulate(tokens, whose));
}

async function readTokens(api: Api, { team, organization }: OwnerOptions): Promise<Listed> {
  if (team !== undefined) {
    const { team: found } = await findTeam(api, team);
    const path = apiPath('teams', found.id, 'authentication-tokens');
    const { data } = await api.readAll<Token>({ path, about: `tokens of team ${team}` });
    return { tokens: data, whose: () => `team ${found.attributes.name}` };
  }
  if (organization === undefined) {
    const path = apiPath('users', await ownUserId(api), 'authentication-tokens');
    const { data } = await api.readAll<Token>({ path, about: 'your tokens' });
    return { tokens: data, whose: () => 'yourself' };
  }
  const own = await plainToken(api, organizationOwner(organization));
  const path = apiPath('organizations', organization, 'team-tokens');
  const { data } = await api.readAll<Token>({ path, about: `organization ${organization}` });
  const names = await teamNames(api, organization);
  const whose = (token: Token): string => {
    const teamId = relatedId(token, 'team');
    return teamId === '' ? 'the organization' : `team ${names.get(teamId) ?? teamId}`;
  };
  return { tokens: own === undefined ? data : [own, ...data], whose };
}

async function create(shell: Shell, options: CreateOptions): Promise<void> {
  refuseBoth(options);
  const api = connectApi(shell, options);
  const { description, expiresAt, replace = false } = options;
  const owner = await ownerOf(api, options);
  // The API's POST replaces; here that is asked for. Another writer in between can still win: a courtesy, not a guard.
  if (owner.plain && !replace && (await plainToken(api, owner)) !== undefined) {
    throw new CommandError('refused', `there is ${owner.about} already: --replace revokes it first`);
  }
  const body = bodyOf('authentication-tokens', { description, 'expired-at': expiresAt });
  const { data: token } = await api.read<Token>({ method: 'POST', path: owner.path, about: owner.about, body });
  print(shell, options, token, ({ attributes }) => `${printable(attributes.token ?? '')}\n`);
  note(shell, `Made token ${printable(token.id)}. It is not shown again.`);
}

async function revoke(shell: Shell, id: string, options: ApiOptions): Promise<void> {
  const about = `token ${id}`;
  await connectApi(shell, options).send({ method: 'DELETE', path: apiPath('authentication-tokens', id), about });
  note(shell, `Revoked ${about}.`);
}

const tabulate = (tokens: readonly Token[], whose: (token: Token) => string): string =>
  table(
    ['ID', 'OF', 'CREATED', 'LAST USED', 'EXPIRES', 'DESCRIPTION'],
    tokens.map((token) => [
      token.id,
      whose(token),
      token.attributes['created-at'],
      token.attributes['last-used-at'] ?? 'never',
      token.attributes['expired-at'] ?? 'never',
      token.attributes.description ?? '',
    ]),
  );
