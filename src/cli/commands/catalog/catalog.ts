/** `accord catalog …`: services, where they are and how they are. */
import type { Command } from 'commander';
import { connect } from '../../client/client.ts';
import { withConnection } from '../../client/connection.ts';
import { showAnswer } from '../../client/read.ts';
import { type Entry, type Node, tabulateHealth, tabulateNodes, tabulateServices } from '../../output/catalog-tables.ts';
import type { Shell } from '../../shell.ts';
import { type CatalogOptions, type Leaf, withPartition } from './catalog-options.ts';
import { addRegisterCommands } from './catalog-register.ts';

interface HealthOptions extends CatalogOptions {
  readonly passing?: boolean;
  readonly tag?: string;
  readonly failover?: string;
}

/** Adds the group. */
export function addCatalogCommands(program: Command, shell: Shell): void {
  const group = program.command('catalog').description('services: where they are, and how');
  const leaf: Leaf = (name, description) => withPartition(group.command(name).description(description));
  const reading: Leaf = (name, description) =>
    withConnection(
      leaf(name, description)
        .option('--peer <name>', 'of what this peer exports, instead of what is registered here')
        .option('--json', 'JSON instead of a table')
        .option('--watch', 'shows it again whenever it changes'),
    );

  reading('services', 'shows the names of services with their tags').action((options: CatalogOptions) =>
    show<Readonly<Record<string, readonly string[]>>>(shell, '/v1/catalog/services', options, tabulateServices),
  );
  reading('nodes', 'shows the nodes').action((options: CatalogOptions) =>
    show<readonly Node[]>(shell, '/v1/catalog/nodes', options, tabulateNodes),
  );
  reading('health <service>', 'shows the instances of a service, and whether their checks pass')
    .option('--passing', 'only those of which every check passes')
    .option('--tag <tag>', 'only those with this tag')
    .option('--failover <peers>', 'peers, separated by commas, of which the first answers while none passes here')
    .action((service: string, options: HealthOptions) => health(shell, service, options));
  addRegisterCommands(leaf, shell);
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
  people: (result: T) => string,
  more = {},
): Promise<void> {
  const query = { partition: options.partition, peer: options.peer, ...more };
  return showAnswer<T>(shell, connect(shell, options), { path, query }, options, people);
}
