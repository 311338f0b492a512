/** `accord export` */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Command } from 'commander';
import { connect, unreachable } from '../../client/client.ts';
import { type ConnectionOptions, readLine, withConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import { note, type Shell } from '../../shell.ts';
import { createExportCheck, type ExportSummary } from './export-check.ts';

interface ExportOptions extends ConnectionOptions {
  readonly passphraseFile?: string;
}

/** Base64 of the passphrase in UTF-8: a header takes no more than ASCII. */
const PASSPHRASE_HEADER = 'x-service-export-passphrase';

/** Adds the command. */
export function addExportCommand(program: Command, shell: Shell): void {
  const passphraseMeaning = "encrypts the secrets in it with the line in this file instead of the server's data key";
  withConnection(
    program
      .command('export <file>')
      .description('writes a snapshot of the whole state; - is standard output')
      .option('--passphrase-file <file>', passphraseMeaning),
  )
    .addHelpText('after', '\nAn export starts a server on an empty store: accord server --import-file FILE')
    .action((file: string, options: ExportOptions) => exportState(shell, file, options));
}

async function exportState(shell: Shell, file: string, options: ExportOptions): Promise<void> {
  const passphrase = options.passphraseFile === undefined ? undefined : readLine(options.passphraseFile);
  const client = connect(shell, options);
  const response = await client.stream({
    method: 'GET',
    path: '/v1/operator/export',
    headers: passphrase === undefined ? {} : { [PASSPHRASE_HEADER]: Buffer.from(passphrase).toString('base64') },
  });
  const chunks = received(client.address, response);
  const summary = file === '-' ? await writeToStdout(shell, chunks) : await writeFileWhole(file, chunks);
  note(shell, ...describe(summary));
}

/** What the operator must know of an export, line by line. */
function describe({ index, rows, leftOut }: ExportSummary): readonly string[] {
  const missing = Object.entries(leftOut).map(([name, count]) => `${count} of ${name}`);
  const written = `Exported ${rows} rows at index ${index}.`;
  if (missing.length === 0) return [written];
  const why = 'nothing encrypts the secrets in them: give --passphrase-file, or the server a data-key-file';
  return [written, `Left out, and to be made again after an import: ${missing.join(', ')} (${why}).`];
}

/** The chunks of an answer; a connection that breaks is `unreachable`, as it is before the answer. */
async function* received(address: string, response: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
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
    if (!shell.stdout.write(chunk)) await once(shell.stdout, 'drain', { signal: shell.interrupted() });
  }
  return check.finish();
}

/** Writes a file that only its owner reads, under its name only once it is whole, checked and on disk. */
async function writeFileWhole(file: string, chunks: AsyncIterable<Buffer>): Promise<ExportSummary> {
  const partial = join(dirname(file), `.${basename(file)}.${randomUUID()}.partial`);
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
    // The system's words end with the name of the partial file, which nobody has given.
    const reason = error.message.replace(/, \w+ '.*$/s, '');
    throw new CommandError('usage', `cannot write ${file}: ${reason}`, { cause: error });
  }
}
