/** `accord peering check`: why a peering does not connect, from where the server stands. */
import { type Client, connect } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { readPeeringToken } from '../../input/read-input.ts';
import { print, printable, table } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';
import { peeringPath } from './peering-path.ts';
import type { Leaf } from './peering-token.ts';

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
  readonly Mend?: string;
  readonly Detail?: string;
  readonly DurationMs?: number;
}

interface CheckReport {
  readonly Name?: string;
  readonly Healthy: boolean;
  readonly Checks: readonly Check[];
}

/** Adds the command. */
export function addPeeringCheckCommand(leaf: Leaf, shell: Shell): void {
  withConnection(
    leaf(
      'check [name]',
      'tries what a peering, or a token, needs to connect, and says what is wrong and how to mend it',
    ).option('--token-file <file>', 'checks the token in this file (- for standard input) instead; it is not used up'),
  )
    .addHelpText(
      'after',
      '\nThe server tries, not this machine: its network counts. The exit code is 1 when a check fails.',
    )
    .action((name: string | undefined, options: CheckOptions) => check(shell, name, options));
}

async function check(shell: Shell, name: string | undefined, options: CheckOptions): Promise<void> {
  if ((name === undefined) === (options.tokenFile === undefined)) {
    throw new CommandError('usage', 'want the name of a peering, or --token-file, and not both');
  }
  const client = connect(shell, options);
  const report =
    name === undefined ? await checkToken(shell, client, options) : await checkNamed(client, name, options);
  print(shell, options, report, describe);
  if (!report.Healthy) throw new CommandError('refused', `${nameOf(report)} cannot connect`);
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

/** The checks in a table, and below it what to do. What was not tried, since something before it failed, is left out. */
function describe({ Checks: checks }: CheckReport): string {
  const tried = checks.filter(({ Status }) => Status !== 'skipped');
  const rows = tried.map(({ Status, ID, Address = '', Cause, Detail }) => [
    Status,
    ID,
    Address,
    [Cause, Detail].filter((text) => text !== undefined).join(': '),
  ]);
  const mends = tried.flatMap(({ ID, Address, Mend }) =>
    Mend === undefined ? [] : [`${printable(Address === undefined ? ID : `${ID} ${Address}`)}: ${printable(Mend)}\n`],
  );
  const advice = mends.length === 0 ? '' : `\nWhat to do:\n${mends.map((mend) => `  ${mend}`).join('')}`;
  return table(['STATUS', 'CHECK', 'ADDRESS', 'WHAT WAS FOUND'], rows) + advice;
}
