/** `accord peering check`: the connection check, which the server runs from its own network. */
import { type Client, connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { readPeeringToken } from '../../input/read-peering-token.ts';
import { print, printable, table } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';
import type { AddSubcommand } from '../subcommand.ts';
import { peeringPath } from './peering-path.ts';

interface CheckOptions extends ConnectionOptions {
  readonly json?: boolean;
  readonly partition?: string;
  readonly tokenFile?: string;
}

interface Check {
  readonly ID: string;
  readonly Address?: string;
  readonly Status: 'passed' | 'failed' | 'warning' | 'skipped';
  readonly Code?: string;
  readonly Cause?: string;
  readonly Remedy?: string;
  /** The name of `Remedy` in the responses of older servers. */
  readonly Mend?: string;
  readonly Detail?: string;
  readonly DurationMs?: number;
}

interface CheckReport {
  readonly Name?: string;
  readonly Healthy: boolean;
  readonly Checks: readonly Check[];
}

export function addPeeringCheckCommand(subcommand: AddSubcommand, shell: Shell): void {
  withConnection(
    subcommand(
      'check [name]',
      'Check that a peering, or a peering token, can connect, and show the causes and remedies of failures',
    ).option('--token-file <file>', 'check the token in this file (- for standard input) without using it'),
  )
    .addHelpText('after', '\nThe server runs the checks from its own network. The exit code is 1 if a check fails.')
    .action((name: string | undefined, options: CheckOptions) => check(shell, name, options));
}

async function check(shell: Shell, name: string | undefined, options: CheckOptions): Promise<void> {
  if ((name === undefined) === (options.tokenFile === undefined)) {
    throw new CommandError('usage', 'give the name of a peering or --token-file, not both');
  }
  const client = connect(shell, options);
  const report =
    name === undefined ? await checkToken(shell, client, options) : await checkNamed(client, name, options);
  print(shell, options, report, describe);
  if (!report.Healthy) throw new CommandError('failed', `${nameOf(report)} cannot connect`);
}

const checkNamed = (client: Client, name: string, { partition }: CheckOptions): Promise<CheckReport> =>
  client.read({ method: 'GET', path: peeringPath(name, '/check'), query: { partition } });

async function checkToken(shell: Shell, client: Client, options: CheckOptions): Promise<CheckReport> {
  const PeeringToken = await readPeeringToken(shell, options.tokenFile);
  const body = { PeeringToken, Partition: options.partition };
  return await client.read({ method: 'POST', path: '/v1/peering/check', body });
}

const nameOf = ({ Name }: CheckReport): string =>
  Name === undefined ? 'a peering with this token' : `peering ${Name}`;

/** Formats the checks and their remedies. Omits checks that were skipped because an earlier one failed. */
function describe({ Checks: checks }: CheckReport): string {
  const completed = checks.filter(({ Status }) => Status !== 'skipped');
  const rows = completed.map(({ Status, ID, Address = '', Cause, Detail }) => [
    Status,
    ID,
    Address,
    [Cause, Detail].filter((text) => text !== undefined).join(': '),
  ]);
  const remedies = completed.flatMap(({ ID, Address, Mend, Remedy = Mend }) =>
    Remedy === undefined
      ? []
      : [`  ${printable(Address === undefined ? ID : `${ID} ${Address}`)}: ${printable(Remedy)}\n`],
  );
  const advice = remedies.length === 0 ? '' : `\nRemedies:\n${remedies.join('')}`;
  return table(['STATUS', 'CHECK', 'ADDRESS', 'RESULT'], rows) + advice;
}
