/** `accord export`: a snapshot of the state, verified and written atomically. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Command } from 'commander';
import { connect, unreachable } from '../../client/client.ts';
import { type ConnectionOptions, readSecretFile, withConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { printable } from '../../output/output.ts';
import { note, type Shell } from '../../shell.ts';
import { createExportCheck, type ExportSummary, type SkippedRows } from './export-check.ts';

interface ExportOptions extends ConnectionOptions {
  readonly passphraseFile?: string;
  readonly offline?: boolean;
}

/** Contains the passphrase as Base64 of its UTF-8 bytes, because headers are ASCII. */
const PASSPHRASE_HEADER = 'x-service-export-passphrase';

export function addExportCommand(program: Command, shell: Shell): void {
  const passphraseHelp = "encrypt secrets with the passphrase in this file instead of the server's data key";
  withConnection(
    program
      .command('export <file>')
      .description('Write a snapshot of the whole state to a file (- for standard output)')
      .option('--passphrase-file <file>', passphraseHelp)
      .option(
        '--offline',
        'read the SQLite database of a stopped server in --data-dir, and skip what is damaged; no server is called',
      ),
  )
    .addHelpText('after', '\nTo import an export into an empty store: accord server --import-file FILE')
    .action((file: string, options: ExportOptions) => exportState(shell, file, options));
}

async function exportState(shell: Shell, file: string, options: ExportOptions): Promise<void> {
  const passphrase = options.passphraseFile === undefined ? undefined : readSecretFile(options.passphraseFile);
  const chunks = options.offline
    ? await shell.local.exportOffline({ dataDir: options.dataDir, passphrase })
    : await requestExport(shell, options, passphrase);
  const summary = file === '-' ? await writeToStdout(shell, chunks) : await writeFileAtomically(file, chunks);
  note(shell, ...describe(summary));
}

async function requestExport(
  shell: Shell,
  options: ExportOptions,
  passphrase: string | undefined,
): Promise<AsyncIterable<Buffer>> {
  const client = connect(shell, options);
  const response = await client.stream({
    method: 'GET',
    path: '/v1/operator/export',
    headers: passphrase === undefined ? {} : { [PASSPHRASE_HEADER]: Buffer.from(passphrase).toString('base64') },
  });
  return readChunks(client.address, response);
}

function describe({ index, rows, leftOut, skipped }: ExportSummary): readonly string[] {
  const missing = Object.entries(leftOut).map(([name, count]) => `${count} of ${name}`);
  const reason = 'no key encrypts their secrets; give --passphrase-file, or configure data-key-file on the server';
  return [
    `Exported ${rows} rows at index ${index}.`,
    ...(missing.length === 0 ? [] : [`Omitted, create again after an import: ${missing.join(', ')} (${reason}).`]),
    ...Object.entries(skipped).map(describeSkipped),
  ];
}

function describeSkipped([table, { count, keys, unreadable }]: [string, SkippedRows]): string {
  const known = keys.length === 0 ? 'their keys are unknown' : keys.map((key) => `'${printable(key)}'`).join(', ');
  const rest = unreadable === undefined ? '' : `; the rows behind them cannot be read: ${printable(unreadable)}`;
  return `Skipped, because they are damaged: ${count} of ${printable(table)} (${known}${rest}).`;
}

/** Reads the chunks of a response. A broken connection is `unreachable`, as before the response. */
async function* readChunks(address: string, response: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* response;
  } catch (error) {
    throw unreachable({ address }, error as Error);
  }
}

async function writeToStdout(shell: Shell, chunks: AsyncIterable<Buffer>): Promise<ExportSummary> {
  const check = createExportCheck();
  for await (const chunk of chunks) {
    check.add(chunk);
    if (!shell.stdout.write(chunk)) await once(shell.stdout, 'drain', { signal: shell.interruptSignal() });
  }
  return check.finish();
}

const PART_SUFFIX = '.partial';

/** Returns the start of the names of partial files. The host tells whose process IDs they contain. */
const partPrefix = (file: string): string => `.${basename(file)}.${hostname()}.`;

/** Removes the partial files that killed exports to the same file on this host left. */
async function removeAbandonedParts(file: string): Promise<void> {
  const prefix = partPrefix(file);
  const names = await readdir(dirname(file)).catch(() => []);
  for (const name of names.filter((found) => found.startsWith(prefix) && found.endsWith(PART_SUFFIX))) {
    const processId = Number.parseInt(name.slice(prefix.length), 10);
    if (!isRunning(processId)) await rm(join(dirname(file), name), { force: true });
  }
}

function isRunning(processId: number): boolean {
  try {
    return Number.isSafeInteger(processId) && process.kill(processId, 0);
  } catch (error) {
    // EPERM: the process belongs to another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Writes a file with mode 0600. Renames it to its final name after it is complete, verified, and synced to disk. */
async function writeFileAtomically(file: string, chunks: AsyncIterable<Buffer>): Promise<ExportSummary> {
  await removeAbandonedParts(file);
  const partial = join(dirname(file), `${partPrefix(file)}${process.pid}.${randomUUID()}${PART_SUFFIX}`);
  const check = createExportCheck();
  try {
    await using handle = await open(partial, 'wx', 0o600);
    for await (const chunk of chunks) {
      check.add(chunk);
      await handle.writeFile(chunk);
    }
    const summary = check.finish();
    await handle.sync();
    await rename(partial, file);
    return summary;
  } catch (error) {
    await rm(partial, { force: true });
    if (error instanceof CommandError || !(error instanceof Error && 'syscall' in error)) throw error;
    // Removes the name of the partial file from the system's message, because the user does not know it.
    const reason = error.message.replace(/, \w+ '.*$/s, '');
    throw new CommandError('usage', `cannot write ${file}: ${reason}`, { cause: error });
  }
}
