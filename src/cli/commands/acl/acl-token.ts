/** `accord acl token …` */
import type { Command } from 'commander';
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { type ReadOptions, showAnswer } from '../../client/read.ts';
import { removeNamed } from '../../client/remove.ts';
import { CommandError } from '../../errors.ts';
import { formatGrant, GRANT_HELP, type Grant, parseGrant } from '../../input/grant.ts';
import { details, print, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';

/** An ACL token as the API shows it. */
interface AclToken {
  readonly AccessorID: string;
  /** In the answer to its creation only. */
  readonly SecretID?: string;
  readonly Description: string;
  readonly Partition: string;
  readonly ExpirationTime?: string;
  readonly Grants: readonly Grant[];
  readonly CreateTime: string;
}

interface TokenOptions extends ConnectionOptions, ReadOptions {
  readonly partition?: string;
}

interface ContentOptions extends TokenOptions {
  readonly description?: string;
  readonly expirationTtl?: string;
  readonly grant?: readonly Grant[];
}

/** Adds the group to `acl`. */
export function addTokenCommands(acl: Command, shell: Shell): void {
  const token = acl.command('token').description('tokens for /v1 and what they may do');
  const leaf = (name: string, description: string): Command =>
    token.command(name).description(description).option('--json', 'JSON instead of a table');
  const partition = ['--partition <name>', 'partition of the token'] as const;
  const grant = ['--grant <grant>', 'what the token may do; repeat it for several', collect] as const;

  withConnection(
    leaf('create', 'makes a token; its secret ID is shown this once')
      .option(...grant)
      .option('--description <text>', 'what the token is for')
      .option('--expiration-ttl <duration>', 'how long it lives, such as 24h; without it: until it is deleted')
      .option(...partition),
  )
    .addHelpText('after', GRANT_HELP)
    .action((options: ContentOptions) => create(shell, options));
  withConnection(
    leaf('read <accessor-id>', 'shows a token').option('--watch', 'shows it again whenever it changes'),
  ).action((id: string, options: TokenOptions) => show(shell, tokenPath(id), options));
  withConnection(
    leaf('update <accessor-id>', 'changes a token; what is not given stays')
      .option(...grant)
      .option('--description <text>', 'what the token is for'),
  )
    .addHelpText('after', `\nGrants that are given replace all that the token has.\n${GRANT_HELP}`)
    .action((id: string, options: ContentOptions) => update(shell, id, options));
  withConnection(token.command('delete <accessor-id>').description('deletes a token; it ends at once')).action(
    (id: string, options: TokenOptions) => remove(shell, id, options),
  );
  withConnection(
    leaf('list', 'shows the tokens of a partition')
      .option(partition[0], 'partition to list; * for all that you may read')
      .option('--watch', 'shows them again whenever one changes'),
  ).action((options: TokenOptions) => list(shell, options));
  withConnection(leaf('self', 'shows the token that is in use')).action((options: TokenOptions) =>
    show(shell, '/v1/acl/token/self', options),
  );
}

const tokenPath = (id: string): string => `/v1/acl/token/${encodeURIComponent(id)}`;

const collect = (text: string, earlier: readonly Grant[] = []): readonly Grant[] => [...earlier, parseGrant(text)];

async function create(shell: Shell, options: ContentOptions): Promise<void> {
  if (options.grant === undefined) throw new CommandError('usage', 'a token needs at least one --grant');
  const body = {
    Description: options.description,
    Partition: options.partition,
    ExpirationTTL: options.expirationTtl,
    Grants: options.grant,
  };
  const token = await connect(shell, options).read<AclToken>({ method: 'PUT', path: '/v1/acl/token', body });
  print(shell, options, token, describe);
  note(shell, 'The secret ID is not shown again.');
}

async function update(shell: Shell, id: string, options: ContentOptions): Promise<void> {
  if (options.description === undefined && options.grant === undefined) {
    throw new CommandError('usage', 'nothing to change: give --description or --grant');
  }
  const body = { Description: options.description, Grants: options.grant };
  const client = connect(shell, options);
  print(shell, options, await client.read<AclToken>({ method: 'PUT', path: tokenPath(id), body }), describe);
}

async function remove(shell: Shell, id: string, options: TokenOptions): Promise<void> {
  await removeNamed(shell, connect(shell, options), { path: tokenPath(id) }, `token ${id}`);
}

async function show(shell: Shell, path: string, options: TokenOptions): Promise<void> {
  await showAnswer(shell, connect(shell, options), { path }, options, describe);
}

async function list(shell: Shell, options: TokenOptions): Promise<void> {
  const call = { path: '/v1/acl/tokens', query: { partition: options.partition } };
  await showAnswer(shell, connect(shell, options), call, options, tabulate);
}

function describe(token: AclToken): string {
  return details([
    ['Accessor ID', token.AccessorID],
    ['Secret ID', token.SecretID],
    ['Description', token.Description],
    ['Partition', token.Partition],
    ['Expires', token.ExpirationTime ?? 'never'],
    ['Created', token.CreateTime],
    ...token.Grants.map((grant, i): [string, string] => [i === 0 ? 'Grants' : '', formatGrant(grant)]),
  ]);
}

function tabulate(tokens: readonly AclToken[]): string {
  const rows = tokens.map((token) => [
    token.AccessorID,
    token.Partition,
    token.ExpirationTime ?? 'never',
    token.Grants.map(formatGrant).join(' '),
    token.Description,
  ]);
  return table(['ACCESSOR ID', 'PARTITION', 'EXPIRES', 'GRANTS', 'DESCRIPTION'], rows);
}
