/** `accord intention check`: whether a service may call another. */
import type { Command } from 'commander';
import { connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { details, print } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';

interface CheckOptions extends ConnectionOptions {
  readonly json?: boolean;
  readonly partition?: string;
  readonly source: string;
  readonly sourcePeer?: string;
  readonly sourcePartition?: string;
  readonly destination: string;
}

interface Check {
  readonly Allowed: boolean;
  readonly Reason: string;
  readonly Intention?: { readonly Precedence: number; readonly Description?: string };
}

/** Adds the group. */
export function addIntentionCommands(program: Command, shell: Shell): void {
  const group = program.command('intention').description('who may call whom');
  withConnection(
    group
      .command('check')
      .description('tells whether a service may call another, and what decides')
      .requiredOption('--source <service>', 'the service that calls')
      .option('--source-peer <name>', 'the peer that it comes from (default: it is of this cluster)')
      .option('--source-partition <name>', "its partition, where it is of this cluster (default: the destination's)")
      .requiredOption('--destination <service>', 'the service that is called')
      .option('--partition <name>', "partition of the destination (default: the token's own)")
      .option('--json', 'JSON instead of a table'),
  )
    .addHelpText('after', '\nThe exit code is 1 when the call is denied.')
    .action((options: CheckOptions) => check(shell, options));
}

async function check(shell: Shell, options: CheckOptions): Promise<void> {
  const { source, sourcePeer, sourcePartition, destination, partition } = options;
  const query = {
    source,
    'source-peer': sourcePeer,
    'source-partition': sourcePartition,
    destination,
    partition,
  };
  const path = '/v1/connect/intentions/check';
  const found = await connect(shell, options).read<Check>({ method: 'GET', path, query });
  print(shell, options, found, describe);
  if (!found.Allowed) throw new CommandError('refused', `${source} may not call ${destination}`);
}

const describe = ({ Allowed, Reason, Intention }: Check): string =>
  details([
    ['Call', Allowed ? 'allowed' : 'denied'],
    ['Because', Reason],
    ['Precedence', Intention === undefined ? undefined : String(Intention.Precedence)],
    ['Description', Intention?.Description],
  ]);
