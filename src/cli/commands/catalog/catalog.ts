/** `accord catalog`: services, nodes, and their health. */
import type { Command } from 'commander';
import { connect } from '../../client/client.ts';
import { withConnection } from '../../client/connection.ts';
import { printResponse } from '../../client/print-response.ts';
import { type Entry, type Node, tabulateHealth, tabulateNodes, tabulateServices } from '../../output/catalog-tables.ts';
import type { Shell } from '../../shell.ts';
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

function health(shell: Shell, service: string, options: HealthOptions): Promise<void> {
  const { passing, tag, failover } = options;
  const path = `/v1/health/service/${encodeURIComponent(service)}`;
  const query = { passing: passing === true ? 'true' : undefined, tag, failover };
  return show<readonly Entry[]>(shell, path, options, tabulateHealth, query);
}

function show<T>(
  shell: Shell,
  path: string,
  options: CatalogOptions,
  format: (result: T) => string,
  more = {},
): Promise<void> {
  const query = { partition: options.partition, peer: options.peer, ...more };
  return printResponse<T>(shell, connect(shell, options), { path, query }, options, format);
}
