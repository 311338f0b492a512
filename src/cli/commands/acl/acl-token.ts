/** `accord acl token`: ACL tokens. */
import type { Command } from 'commander';
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { deleteResource } from '../../client/delete-resource.ts';
import { type OutputOptions, printList, printResponse } from '../../client/print-response.ts';
import { CommandError } from '../../errors.ts';
import { type ConfirmationOptions, requireConfirmation, withConfirmation } from '../../input/confirm.ts';
import { formatGrant, GRANT_HELP, type Grant, parseGrant } from '../../input/grant.ts';
import { details, print, printable, table } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';

interface AclToken {
  readonly AccessorID: string;
  /** Only in the response to its creation. */
  readonly SecretID?: string;
  readonly Description: string;
  readonly Partition: string;
  readonly ExpirationTime?: string;
  readonly Grants: readonly Grant[];
  readonly CreateTime: string;
}

interface TokenOptions extends ConnectionOptions, OutputOptions {
  readonly partition?: string;
}

interface ContentOptions extends TokenOptions {
  readonly description?: string;
  readonly expirationTtl?: string;
  readonly grant?: readonly Grant[];
}

export function addTokenCommands(acl: Command, shell: Shell): void {
  const token = acl.command('token').description('Manage ACL tokens, the credentials for /v1');
  const subcommand = (name: string, description: string): Command =>
    token.command(name).description(description).option('--json', 'print JSON instead of a table');
  const grant = ['--grant <grant>', 'permission of the token; may be repeated', collect] as const;

  withConnection(
    subcommand('create', 'Create a token and print its secret ID, which is not shown again')
      .option(...grant)
      .option('--description <text>', 'description of the token')
      .option('--expiration-ttl <duration>', 'lifetime, such as 24h (default: no expiration)')
      .option('--partition <name>', 'partition of the token'),
  )
    .addHelpText('after', GRANT_HELP)
    .action((options: ContentOptions) => create(shell, options));
  withConnection(
    subcommand('read <accessor-id>', 'Show a token').option('--watch', 'print the token again when it changes'),
  ).action((id: string, options: TokenOptions) => show(shell, tokenPath(id), options));
  withConnection(
    subcommand('update <accessor-id>', 'Update the given properties of a token')
      .option(...grant)
      .option('--description <text>', 'description of the token'),
  )
    .addHelpText('after', `\nThe given grants replace all grants of the token.\n${GRANT_HELP}`)
    .action((id: string, options: ContentOptions) => update(shell, id, options));
  withConnection(
    withConfirmation(token.command('delete <accessor-id>').description('Delete a token; it stops working immediately')),
  ).action((id: string, options: TokenOptions & ConfirmationOptions) => remove(shell, id, options));
  withConnection(
    subcommand('list', 'List the tokens of a partition')
      .option('--partition <name>', 'partition to list; * for all that you may read')
      .option('--watch', 'print the list again when it changes'),
  ).action((options: TokenOptions) => list(shell, options));
  withConnection(subcommand('self', 'Show the token that the command uses')).action((options: TokenOptions) =>
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

async function remove(shell: Shell, id: string, options: TokenOptions & ConfirmationOptions): Promise<void> {
  await requireConfirmation(shell, options, `Delete token ${printable(id)}?`);
  await deleteResource(shell, connect(shell, options), { path: tokenPath(id) }, `token ${id}`);
}

async function show(shell: Shell, path: string, options: TokenOptions): Promise<void> {
  await printResponse(shell, connect(shell, options), { path }, options, describe);
}

async function list(shell: Shell, options: TokenOptions): Promise<void> {
  const call = { path: '/v1/acl/tokens', query: { partition: options.partition } };
  await printList(shell, connect(shell, options), call, options, {
    format: tabulate,
    cursorOf: ({ AccessorID }) => AccessorID,
  });
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
