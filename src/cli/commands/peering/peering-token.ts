/** `accord peering generate-token`, `establish`, `token`: peering tokens, from their making to their end. */
import type { Command } from 'commander';
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { readPeeringToken } from '../../input/read-input.ts';
import { collect, collectMeta } from '../../input/repeated.ts';
import { details, print } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
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

/** Whether a token waits to be used; never the token itself. */
interface TokenStatus {
  readonly Outstanding: boolean;
  readonly AccessorID?: string;
  readonly CreateTime?: string;
  readonly ExpirationTime?: string;
}

/** Makes a command of the group, with the options that all of them have. */
export type Leaf = (name: string, description: string) => Command;

/** Adds the commands. */
export function addPeeringTokenCommands(leaf: Leaf, shell: Shell): void {
  const meta = ['--meta <key=value>', 'metadata to keep with the peering; repeat it for several', collectMeta] as const;
  withConnection(
    leaf('generate-token <name>', 'makes a peering and prints the token with which another cluster establishes it')
      .option('--external-address <host:port>', 'where that cluster reaches this one; repeat it for several', collect)
      .option(...meta),
  )
    .addHelpText('after', '\nThe token is shown this once, and works once. Send it over a channel that you trust.')
    .action((name: string, options: GenerateOptions) => generate(shell, name, options));
  withConnection(
    leaf('establish <name>', 'establishes a peering with a token that another cluster made; read from standard input')
      .option('--token-file <file>', 'file that holds the token, instead of standard input')
      .option(...meta),
  ).action((name: string, options: EstablishOptions) => establish(shell, name, options));
  withConnection(
    leaf('token <name>', 'shows whether a token for the peering waits to be used').option(
      '--revoke',
      'ends that token; a stream that is open stays',
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
  const made = await connect(shell, options).read<{ readonly PeeringToken: string }>(call);
  // Alone on its line, so that it can be piped into `establish`.
  print(shell, options, made, ({ PeeringToken }) => `${PeeringToken}\n`);
}

async function establish(shell: Shell, name: string, options: EstablishOptions): Promise<void> {
  const client = connect(shell, options);
  const PeeringToken = await readPeeringToken(shell, options.tokenFile);
  const body = { PeerName: name, Partition: options.partition, PeeringToken, Meta: options.meta };
  print(shell, options, await client.read({ method: 'POST', path: '/v1/peering/establish', body }), () => '');
  note(shell, `Established peering ${name}; to wait for its stream: accord peering read ${name} --until ACTIVE`);
}

async function show(shell: Shell, name: string, options: TokenOptions): Promise<void> {
  const call = { method: 'GET', path: peeringPath(name, '/token'), query: { partition: options.partition } } as const;
  print(shell, options, await connect(shell, options).read<TokenStatus>(call), describe);
}

async function revoke(shell: Shell, name: string, options: TokenOptions): Promise<void> {
  const client = connect(shell, options);
  const at = { path: peeringPath(name, '/token'), query: { partition: options.partition } };
  const { Outstanding: wasThere } = await client.read<TokenStatus>({ method: 'GET', ...at });
  await client.send({ method: 'DELETE', ...at });
  note(shell, wasThere ? `Revoked the token of peering ${name}.` : `No token of peering ${name} waits to be used.`);
}

function describe(status: TokenStatus): string {
  if (!status.Outstanding) return 'No token waits to be used.\n';
  return details([
    ['Outstanding', 'yes'],
    ['Made', status.CreateTime],
    ['Made by', status.AccessorID ?? 'the anonymous token'],
    ['Expires', status.ExpirationTime ?? 'never'],
  ]);
}
