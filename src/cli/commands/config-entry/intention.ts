/** `accord intention check`: the decision about calls between two services. */
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

export function addIntentionCommands(program: Command, shell: Shell): void {
  const group = program.command('intention').description('Check which services may call which');
  withConnection(
    group
      .command('check')
      .description('Show whether a service may call another, and the rule that decides')
      .requiredOption('--source <service>', 'calling service')
      .option('--source-peer <name>', 'peer of the calling service (default: this cluster)')
      .option(
        '--source-partition <name>',
        "partition of a calling service of this cluster (default: the destination's)",
      )
      .requiredOption('--destination <service>', 'called service')
      .option('--partition <name>', "partition of the destination (default: the token's own)")
      .option('--json', 'print JSON instead of a table'),
  )
    .addHelpText(
      'after',
      '\nThe exit code is 1 if the call is denied.\n\nExample:\n  accord intention check --source web --source-peer east --destination db',
    )
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
  if (!found.Allowed) throw new CommandError('failed', `${source} may not call ${destination}`);
}

const describe = ({ Allowed, Reason, Intention }: Check): string =>
  details([
    ['Call', Allowed ? 'allowed' : 'denied'],
    ['Reason', Reason],
    ['Precedence', Intention === undefined ? undefined : String(Intention.Precedence)],
    ['Description', Intention?.Description],
  ]);
