/** `accord audit`: the audit log. */
import { type Command, InvalidArgumentError } from 'commander';
import { type Client, connect, parseJson } from '../../client/client.ts';
import { type ConnectionOptions, withConnection } from '../../client/connection.ts';
import { AUDIT_ENTRIES_DEFAULT } from '../../limits.ts';
import { print, table } from '../../output/output.ts';
import type { Shell } from '../../shell.ts';

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

export function addAuditCommand(program: Command, shell: Shell): void {
  withConnection(
    program
      .command('audit')
      .description('Show the audit log: who changed what, when, and from which address')
      .option('--since <time>', 'show only entries from this time, such as 2026-01-31T00:00:00Z')
      .option('--limit <count>', 'maximum number of entries', parseCount, AUDIT_ENTRIES_DEFAULT)
      .option('--json', 'print JSON with the values before and after each change instead of a table'),
  ).action(async (options: AuditOptions) => {
    print(shell, options, await readEntries(connect(shell, options), options), tabulate);
  });
}

/** Reads up to `limit` entries. A response may contain fewer, because the server examines a limited number. */
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
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Want a positive integer.');
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
