/** `accord catalog`: services, nodes, and their health. */
import type { Command } from 'commander';
import { type Client, connect } from '../../client/client.ts';
import { withConnection } from '../../client/connection.ts';
import { printResponse } from '../../client/print-response.ts';
import { CommandError } from '../../errors.ts';
import { type Entry, type Node, tabulateHealth, tabulateNodes, tabulateServices } from '../../output/catalog-tables.ts';
import { print, printable } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';
import { peeringPath } from '../peering/peering-path.ts';
import type { AddSubcommand } from '../subcommand.ts';
import { addRegisterCommands, type CatalogOptions } from './catalog-register.ts';

interface HealthOptions extends CatalogOptions {
  readonly passing?: boolean;
  readonly tag?: string;
  readonly failover?: string;
}

export function addCatalogCommands(program: Command, shell: Shell): void {
  const group = program.command('catalog').description('Show and register services and nodes');
  const subcommand: AddSubcommand = (name, description) =>
    group
      .command(name)
      .description(description)
      .option('--partition <name>', "partition of the services (default: the token's own)");
  const readSubcommand: AddSubcommand = (name, description) =>
    withConnection(
      subcommand(name, description)
        .option('--peer <name>', 'show the services imported from this peer instead of local services')
        .option('--json', 'print JSON instead of a table')
        .option('--watch', 'print the result again when it changes'),
    );

  readSubcommand('services', 'List the names and tags of services').action((options: CatalogOptions) =>
    show<Readonly<Record<string, readonly string[]>>>(shell, '/v1/catalog/services', options, tabulateServices),
  );
  readSubcommand('nodes', 'List nodes').action((options: CatalogOptions) =>
    show<readonly Node[]>(shell, '/v1/catalog/nodes', options, tabulateNodes),
  );
  readSubcommand('health <service>', 'List the instances of a service with their check status')
    .option('--passing', 'show only instances whose checks all pass')
    .option('--tag <tag>', 'show only instances with this tag')
    .option(
      '--failover <peers>',
      'comma-separated peers; the first with a passing instance is used if none passes here',
    )
    .action((service: string, options: HealthOptions) => health(shell, service, options));
  addRegisterCommands(subcommand, shell);
}

async function health(shell: Shell, service: string, options: HealthOptions): Promise<void> {
  const { passing, tag, failover } = options;
  const path = `/v1/health/service/${encodeURIComponent(service)}`;
  const query = { passing: passing === true ? 'true' : undefined, tag, failover };
  await show<readonly Entry[]>(shell, path, options, tabulateHealth, query, async (client, partition) => {
    const { peer } = options;
    const all = await client.read<readonly Entry[]>({ method: 'GET', path, query: { partition, peer, failover } });
    if (all.length > 0) return;
    const where = peer === undefined ? '' : ` of peer ${printable(peer)}`;
    throw new CommandError('failed', `service ${printable(service)}${where}: not found, or you may not see it`);
  });
}

/**
 * Prints a list. Before it prints an empty one, it requires that the peer exists, and calls `checkEmpty`, so that a
 * mistyped name is an error.
 * @throws CommandError
 */
async function show<T extends object>(
  shell: Shell,
  path: string,
  options: CatalogOptions,
  format: (result: T) => string,
  more = {},
  checkEmpty?: (client: Client, partition: string | undefined) => Promise<void>,
): Promise<void> {
  const { partition, peer, watch } = options;
  const query = { partition, peer, ...more };
  const client = connect(shell, options);
  if (watch === true) {
    await printResponse<T>(shell, client, { path, query }, options, format);
    return;
  }
  const result = await client.read<T>({ method: 'GET', path, query });
  if (Object.keys(result).length === 0) {
    if (peer !== undefined) await requirePeering(client, peer, partition);
    await checkEmpty?.(client, partition);
  }
  print(shell, options, result, format);
}

/** Requires that a peering exists. A token that may not read peerings passes. @throws CommandError `failed` */
async function requirePeering(client: Client, peer: string, partition: string | undefined): Promise<void> {
  const { status } = await client.request({ method: 'GET', path: peeringPath(peer), query: { partition } });
  if (status === 404) throw new CommandError('failed', `peer ${printable(peer)}: there is no such peering`);
}
