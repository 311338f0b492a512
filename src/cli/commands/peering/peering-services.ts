/** `accord peering exported-services` and `imported-services`. */
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { type OutputOptions, printResponse } from '../../client/print-response.ts';
import { table } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';
import type { AddSubcommand } from '../subcommand.ts';
import { peeringPath } from './peering-path.ts';

interface ServicesOptions extends ConnectionOptions, OutputOptions {
  readonly partition?: string;
}

interface Exported {
  readonly Service: string;
  readonly Instances: number;
  readonly TooLarge?: { readonly Bytes: number; readonly Limit: number };
}

interface Imported {
  readonly Service: string;
  readonly Instances: number;
  readonly Refused?: { readonly Reason: string; readonly Since: string };
}

export function addPeeringServicesCommands(subcommand: AddSubcommand, shell: Shell): void {
  const watch = ['--watch', 'print the list again when it changes'] as const;
  withConnection(
    subcommand('exported-services <name>', 'List the services exported to a peer, and those too large to send').option(
      ...watch,
    ),
  ).action((name: string, options: ServicesOptions) =>
    printResponse(
      shell,
      connect(shell, options),
      callOf(name, 'exported-services', options),
      options,
      tabulateExported,
    ),
  );
  withConnection(
    subcommand(
      'imported-services <name>',
      'List the services imported from a peer, and those that were rejected',
    ).option(...watch),
  ).action((name: string, options: ServicesOptions) =>
    printResponse(
      shell,
      connect(shell, options),
      callOf(name, 'imported-services', options),
      options,
      tabulateImported,
    ),
  );
}

const callOf = (name: string, what: string, { partition }: ServicesOptions) => ({
  path: peeringPath(name, `/${what}`),
  query: { partition },
});

const tabulateExported = (services: readonly Exported[]): string =>
  table(
    ['SERVICE', 'INSTANCES', 'PROBLEM'],
    services.map(({ Service, Instances, TooLarge: large }) => [
      Service,
      String(Instances),
      large === undefined ? '' : `not sent: ${large.Bytes} bytes exceed the message limit of ${large.Limit} bytes`,
    ]),
  );

const tabulateImported = (services: readonly Imported[]): string =>
  table(
    ['SERVICE', 'INSTANCES', 'PROBLEM'],
    services.map(({ Service, Instances, Refused: rejected }) => [
      Service,
      String(Instances),
      rejected === undefined ? '' : `rejected since ${rejected.Since}: ${rejected.Reason}`,
    ]),
  );
