/** `accord peering generate-token`, `establish`, and `token`: the life cycle of peering tokens. */
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { readPeeringToken } from '../../input/read-peering-token.ts';
import { collect, collectMeta } from '../../input/repeatable-options.ts';
import { details, print } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import type { AddSubcommand } from '../subcommand.ts';
import { peeringPath } from './peering-path.ts';

interface TokenOptions extends ConnectionOptions {
  readonly json?: boolean;
  readonly partition?: string;
}

interface GenerateOptions extends TokenOptions {
  readonly externalAddress?: readonly string[];
  readonly meta?: Readonly<Record<string, string>>;
}

interface EstablishOptions extends TokenOptions {
  readonly tokenFile?: string;
  readonly meta?: Readonly<Record<string, string>>;
}

/** The status of the unused token of a peering, without the token. */
interface TokenStatus {
  readonly Outstanding: boolean;
  readonly AccessorID?: string;
  readonly CreateTime?: string;
  readonly ExpirationTime?: string;
}

export function addPeeringTokenCommands(subcommand: AddSubcommand, shell: Shell): void {
  const meta = ['--meta <key=value>', 'metadata of the peering; may be repeated', collectMeta] as const;
  withConnection(
    subcommand(
      'generate-token <name>',
      'Create a peering and print the token with which another cluster establishes it',
    )
      .option('--external-address <host:port>', 'address of this cluster in the token; may be repeated', collect)
      .option(...meta),
  )
    .addHelpText(
      'after',
      '\nThe token is not shown again and works once. Send it over a trusted channel.\n\nExample:\n  accord peering generate-token east > east.token',
    )
    .action((name: string, options: GenerateOptions) => generate(shell, name, options));
  withConnection(
    subcommand('establish <name>', 'Establish a peering with a token of another cluster, read from standard input')
      .option('--token-file <file>', 'read the token from this file instead of standard input')
      .option(...meta),
  )
    .addHelpText('after', '\nExample:\n  accord peering establish west < east.token')
    .action((name: string, options: EstablishOptions) => establish(shell, name, options));
  withConnection(
    subcommand('token <name>', 'Show whether the peering has an unused token').option(
      '--revoke',
      'revoke the unused token; an open stream is not closed',
    ),
  ).action((name: string, options: TokenOptions & { readonly revoke?: boolean }) =>
    options.revoke === true ? revoke(shell, name, options) : show(shell, name, options),
  );
}

async function generate(shell: Shell, name: string, options: GenerateOptions): Promise<void> {
  const body = {
    PeerName: name,
    Partition: options.partition,
    ServerExternalAddresses: options.externalAddress,
    Meta: options.meta,
  };
  const call = { method: 'POST', path: '/v1/peering/token', body } as const;
  const generated = await connect(shell, options).read<{ readonly PeeringToken: string }>(call);
  // The only line of the output, so that it can be piped into `establish`.
  print(shell, options, generated, ({ PeeringToken }) => `${PeeringToken}\n`);
}

async function establish(shell: Shell, name: string, options: EstablishOptions): Promise<void> {
  const client = connect(shell, options);
  const PeeringToken = await readPeeringToken(shell, options.tokenFile);
  const body = { PeerName: name, Partition: options.partition, PeeringToken, Meta: options.meta };
  print(shell, options, await client.read({ method: 'POST', path: '/v1/peering/establish', body }), () => '');
  note(shell, `Established peering ${name}. To wait for its stream: accord peering read ${name} --until ACTIVE`);
}

async function show(shell: Shell, name: string, options: TokenOptions): Promise<void> {
  const call = { method: 'GET', path: peeringPath(name, '/token'), query: { partition: options.partition } } as const;
  print(shell, options, await connect(shell, options).read<TokenStatus>(call), describe);
}

async function revoke(shell: Shell, name: string, options: TokenOptions): Promise<void> {
  const client = connect(shell, options);
  const at = { path: peeringPath(name, '/token'), query: { partition: options.partition } };
  const { Outstanding: existed } = await client.read<TokenStatus>({ method: 'GET', ...at });
  await client.send({ method: 'DELETE', ...at });
  note(
    shell,
    existed ? `Revoked the token of peering ${name}.` : `Nothing to revoke: peering ${name} has no unused token.`,
  );
}

function describe(status: TokenStatus): string {
  if (!status.Outstanding) return 'No unused token.\n';
  return details([
    ['Outstanding', 'yes'],
    ['Created', status.CreateTime],
    ['Created by', status.AccessorID ?? 'the anonymous token'],
    ['Expires', status.ExpirationTime ?? 'never'],
  ]);
}
