/** `accord catalog register` and `deregister`. */
import { InvalidArgumentError } from 'commander';
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import type { OutputOptions } from '../../client/print-response.ts';
import { CommandError } from '../../errors.ts';
import { readJson } from '../../input/read-file.ts';
import { collect, collectMeta } from '../../input/repeatable-options.ts';
import { note, type Shell } from '../../shell.ts';
import type { AddSubcommand } from '../subcommand.ts';

export interface CatalogOptions extends ConnectionOptions, OutputOptions {
  readonly partition?: string;
  readonly peer?: string;
}

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

export function addRegisterCommands(subcommand: AddSubcommand, shell: Shell): void {
  withConnection(
    subcommand(
      'register [file]',
      'Register a node and a service, from options or from JSON in a file (- for standard input)',
    )
      .option('--node <name>', 'node of the service')
      .option('--node-address <address>', 'address of the node; without it, an existing node is not changed')
      .option('--service <name>', 'name of the service')
      .option('--id <id>', 'ID of the service on its node (default: its name)')
      .option('--service-address <address>', "address of the service (default: the node's address)")
      .option('--port <port>', 'port of the service', parsePort)
      .option('--tag <tag>', 'tag of the service; may be repeated', collect)
      .option('--meta <key=value>', 'metadata of the service; may be repeated', collectMeta),
  )
    .addHelpText(
      'after',
      '\nExample:\n  accord catalog register --node app-1 --node-address 10.0.0.1 --service web --port 8080',
    )
    .action((file: string | undefined, options: RegisterOptions) => register(shell, file, options));
  withConnection(
    subcommand('deregister', 'Delete a node with everything on it, or one of its services or checks')
      .requiredOption('--node <name>', 'node')
      .option('--service-id <id>', 'delete only this service and its checks')
      .option('--check-id <id>', 'delete only this check'),
  ).action((options: DeregisterOptions) => deregister(shell, options));
}

async function register(shell: Shell, file: string | undefined, options: RegisterOptions): Promise<void> {
  const client = connect(shell, options);
  const body = file === undefined ? requestBody(options) : await readBody(shell, file, options);
  const query = { partition: options.partition };
  await client.send({ method: 'PUT', path: '/v1/catalog/register', query, body });
  note(shell, 'Registered.');
}

async function deregister(shell: Shell, options: DeregisterOptions): Promise<void> {
  const body = { Node: options.node, ServiceID: options.serviceId, CheckID: options.checkId };
  const query = { partition: options.partition };
  await connect(shell, options).send({ method: 'PUT', path: '/v1/catalog/deregister', query, body });
  note(shell, 'Deregistered.');
}

/** The options that describe the node or the service. */
const FIELDS = ['node', 'nodeAddress', 'service', 'id', 'serviceAddress', 'port', 'tag', 'meta'] as const;

function requestBody(options: RegisterOptions): object {
  const { node, nodeAddress, service, id, serviceAddress, port, tag, meta } = options;
  if (node === undefined) throw new CommandError('usage', 'give --node, or a file with the registration');
  if (service === undefined && FIELDS.slice(3).some((field) => options[field] !== undefined)) {
    throw new CommandError('usage', 'give --service: the other options describe the service');
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
    throw new CommandError('usage', 'give a file or options, not both');
  }
  return await readJson(shell, file, 'the registration');
}

function parsePort(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a port number, such as 8080.');
}
