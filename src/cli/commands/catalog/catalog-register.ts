/** `accord catalog register` and `deregister`. */
import { InvalidArgumentError } from 'commander';
import { connect } from '../../client/client.ts';
import { withConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { readJson } from '../../input/read-json.ts';
import { collect, collectMeta } from '../../input/repeated.ts';
import { note, type Shell } from '../../shell.ts';
import type { CatalogOptions, Leaf } from './catalog-options.ts';

interface RegisterOptions extends CatalogOptions {
  readonly node?: string;
  readonly nodeAddress?: string;
  readonly service?: string;
  readonly id?: string;
  readonly serviceAddress?: string;
  readonly port?: number;
  readonly tag?: readonly string[];
  readonly meta?: Readonly<Record<string, string>>;
}

interface DeregisterOptions extends CatalogOptions {
  readonly node: string;
  readonly serviceId?: string;
  readonly checkId?: string;
}

/** Adds the commands. */
export function addRegisterCommands(leaf: Leaf, shell: Shell): void {
  withConnection(
    leaf('register [file]', 'registers a node and a service on it: from options, or the JSON in a file (- is a pipe)')
      .option('--node <name>', 'node that the service is on')
      .option('--node-address <address>', 'where the node is reached; a node that is there stays without it')
      .option('--service <name>', 'name of the service')
      .option('--id <id>', 'ID of the service on its node (default: its name)')
      .option('--service-address <address>', "where the service is reached (default: the node's address)")
      .option('--port <port>', 'port of the service', portIn)
      .option('--tag <tag>', 'tag of the service; repeat it for several', collect)
      .option('--meta <key=value>', 'metadata to keep with the service; repeat it for several', collectMeta),
  ).action((file: string | undefined, options: RegisterOptions) => register(shell, file, options));
  withConnection(
    leaf('deregister', 'takes away a node with everything on it, or a service or a check of it')
      .requiredOption('--node <name>', 'the node')
      .option('--service-id <id>', 'only this service, with its checks')
      .option('--check-id <id>', 'only this check'),
  ).action((options: DeregisterOptions) => deregister(shell, options));
}

async function register(shell: Shell, file: string | undefined, options: RegisterOptions): Promise<void> {
  const client = connect(shell, options);
  const body = file === undefined ? bodyOf(options) : await readBody(shell, file, options);
  const query = { partition: options.partition };
  await client.send({ method: 'PUT', path: '/v1/catalog/register', query, body });
  note(shell, 'Registered.');
}

async function deregister(shell: Shell, options: DeregisterOptions): Promise<void> {
  const body = { Node: options.node, ServiceID: options.serviceId, CheckID: options.checkId };
  const query = { partition: options.partition };
  await connect(shell, options).send({ method: 'PUT', path: '/v1/catalog/deregister', query, body });
  note(shell, 'Nothing of that is in the catalog any more.');
}

/** What says something of the node or the service. */
const FIELDS = ['node', 'nodeAddress', 'service', 'id', 'serviceAddress', 'port', 'tag', 'meta'] as const;

function bodyOf(options: RegisterOptions): object {
  const { node, nodeAddress, service, id, serviceAddress, port, tag, meta } = options;
  if (node === undefined) throw new CommandError('usage', 'name the node with --node, or a file with the registration');
  if (service === undefined && FIELDS.slice(3).some((field) => options[field] !== undefined)) {
    throw new CommandError('usage', 'name the service with --service: the other options are of it');
  }
  return {
    Node: node,
    Address: nodeAddress,
    SkipNodeUpdate: nodeAddress === undefined,
    Service:
      service === undefined
        ? undefined
        : { Service: service, ID: id, Address: serviceAddress, Port: port, Tags: tag, Meta: meta },
  };
}

async function readBody(shell: Shell, file: string, options: RegisterOptions): Promise<unknown> {
  if (FIELDS.some((field) => options[field] !== undefined)) {
    throw new CommandError('usage', 'give a file or options that say the same, not both');
  }
  return await readJson(shell, file, 'the registration');
}

function portIn(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Want a port, such as 8080.');
}
