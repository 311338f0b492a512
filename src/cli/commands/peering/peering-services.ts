/** `accord peering exported-services`, `imported-services`: what goes to a peer, and what came from it. */
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { type ReadOptions, showAnswer } from '../../client/read.ts';
import { table } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';
import { peeringPath } from './peering-path.ts';
import type { Leaf } from './peering-token.ts';

interface ServicesOptions extends ConnectionOptions, ReadOptions {
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

/** Adds the commands. */
export function addPeeringServicesCommands(leaf: Leaf, shell: Shell): void {
  const watch = ['--watch', 'shows them again whenever one changes'] as const;
  withConnection(
    leaf('exported-services <name>', 'shows what the peer gets, and what of it is too large to be sent').option(
      ...watch,
    ),
  ).action((name: string, options: ServicesOptions) =>
    showAnswer(shell, connect(shell, options), callOf(name, 'exported-services', options), options, tabulateExported),
  );
  withConnection(
    leaf('imported-services <name>', 'shows what came from the peer, and what of it could not be taken').option(
      ...watch,
    ),
  ).action((name: string, options: ServicesOptions) =>
    showAnswer(shell, connect(shell, options), callOf(name, 'imported-services', options), options, tabulateImported),
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
      large === undefined ? '' : `not sent: ${large.Bytes} bytes are more than the ${large.Limit} of a message`,
    ]),
  );

const tabulateImported = (services: readonly Imported[]): string =>
  table(
    ['SERVICE', 'INSTANCES', 'PROBLEM'],
    services.map(({ Service, Instances, Refused: refused }) => [
      Service,
      String(Instances),
      refused === undefined ? '' : `refused since ${refused.Since}: ${refused.Reason}`,
    ]),
  );
