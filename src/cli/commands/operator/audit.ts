/** `accord audit` */
import { type Command, InvalidArgumentError } from 'commander';
import { type Client, connect, parseJson } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { AUDIT_ENTRIES_DEFAULT } from '../../limits.ts';
import { print, table } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';

/** An entry of the audit log as the API shows it. */
interface AuditEntry {
  readonly Time: string;
  /** An accessor ID, `anonymous` or `system`. */
  readonly Actor: string;
  readonly Address: string;
  readonly Action: string;
  readonly Type: string;
  readonly Subject: string;
  readonly Partition: string;
}

interface AuditOptions extends ConnectionOptions {
  readonly json?: boolean;
  readonly since?: string;
  readonly limit: number;
}

/** Adds the command. */
export function addAuditCommand(program: Command, shell: Shell): void {
  withConnection(
    program
      .command('audit')
      .description('shows who changed what, when and from where')
      .option('--since <time>', 'only from this time on, such as 2026-01-31T00:00:00Z')
      .option('--limit <count>', 'at most so many entries', parseCount, AUDIT_ENTRIES_DEFAULT)
      .option('--json', 'JSON with what was before and after, instead of a table'),
  ).action(async (options: AuditOptions) => {
    print(shell, options, await readEntries(connect(shell, options), options), tabulate);
  });
}

/** Asks until there are enough: an answer is short of it where the server has looked through as many as it will. */
async function readEntries(client: Client, { since, limit }: AuditOptions): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  let before: string | undefined;
  do {
    const query = { since, limit: limit - entries.length, before };
    const { text, headers } = await client.send({ method: 'GET', path: '/v1/audit', query });
    entries.push(...(parseJson(client, text) as AuditEntry[]));
    before = headers['x-service-before']?.toString();
  } while (before !== undefined && entries.length < limit);
  return entries;
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Want a whole number from 1 on.');
  return Number(text);
}

const tabulate = (entries: readonly AuditEntry[]): string =>
  table(
    ['TIME', 'ACTOR', 'FROM', 'ACTION', 'TYPE', 'PARTITION', 'SUBJECT'],
    entries.map((entry) => [
      entry.Time,
      entry.Actor,
      entry.Address,
      entry.Action,
      entry.Type,
      entry.Partition,
      entry.Subject,
    ]),
  );
