/** Reads an export into an empty store: everything is checked before it counts. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type Engine, EPOCH_STEP, type StoredRow } from './engine.ts';
import {
  EXPORT_FORMAT,
  EXPORT_VERSION,
  type ExportEnd,
  type ExportHeader,
  type ExportRow,
  sealPlace,
} from './export-format.ts';
import type { Sealer, SealRecipe } from './sealing.ts';

/** Rows handed to the engine at once. */
const PAGE_ROWS = 2_000;
/** A line is one row; rows are bounded far below this by the limits of requests. */
const LINE_CHARACTERS_MAX = 64 * 1024 * 1024;

/** Thrown for a file that is not a whole, unchanged export, or cannot be unsealed with the given key. */
export class ImportError extends Error {
  override readonly name = 'ImportError';
}

/** What was imported. */
export interface Imported {
  readonly header: ExportHeader;
  readonly rows: number;
}

/**
 * Fills the engine's store from `file` in one step that is all or nothing. Its head goes on in a new epoch, above every
 * index that the exporting server can have served meanwhile.
 * @param sealerFor gives the sealer for the file's recipe
 * @throws ImportError, StateError `not-empty`
 */
export async function importFile(
  engine: Engine,
  file: string,
  sealerFor: (recipe: SealRecipe) => Promise<Sealer>,
  signal: AbortSignal,
): Promise<Imported> {
  const lines = readLines(file);
  const first = await lines.next();
  const header = readHeader(file, first.done ? '' : first.value);
  const sealer = header.sealed === null ? undefined : await sealerFor(header.sealed);
  const digest = createHash('sha256').update(`${first.value}\n`);
  let rows = 0;
  async function* pages(): AsyncGenerator<StoredRow[]> {
    let page: StoredRow[] = [];
    let end: ExportEnd | undefined;
    for await (const line of lines) {
      signal.throwIfAborted();
      if (end !== undefined) throw new ImportError(`'${file}' goes on after its checksum`);
      const parsed = parseLine(file, line);
      if ('sha256' in parsed) {
        end = parsed;
        continue;
      }
      digest.update(`${line}\n`);
      rows++;
      page.push(openRow(parsed, sealer));
      if (page.length < PAGE_ROWS) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
    if (end === undefined) throw new ImportError(`'${file}' ends without its checksum: it is not complete`);
    if (end.rows !== rows || end.sha256 !== digest.digest('hex')) {
      throw new ImportError(`the checksum of '${file}' does not match: it was changed or damaged`);
    }
  }
  const head = { cluster: header.cluster, epoch: header.epoch + 1, index: header.index + EPOCH_STEP };
  await engine.import(head, pages(), signal);
  return { header, rows };
}

function readHeader(file: string, line: string): ExportHeader {
  let header: Partial<ExportHeader>;
  try {
    header = JSON.parse(line) as Partial<ExportHeader>;
  } catch (cause) {
    throw new ImportError(`'${file}' is not an export of Accord: its first line is not a header`, { cause });
  }
  if (header.format !== EXPORT_FORMAT) throw new ImportError(`'${file}' is not an export of Accord`);
  if (header.version !== EXPORT_VERSION) {
    throw new ImportError(
      `'${file}' has format version ${header.version}, this version of Accord reads ${EXPORT_VERSION}`,
    );
  }
  return header as ExportHeader;
}

function parseLine(file: string, line: string): ExportRow | ExportEnd {
  try {
    return JSON.parse(line) as ExportRow | ExportEnd;
  } catch (cause) {
    throw new ImportError(`'${file}' has a line that is not JSON: it is damaged or cut off`, { cause });
  }
}

function openRow(row: ExportRow, sealer: Sealer | undefined): StoredRow {
  const { table, key } = row;
  if ('value' in row) return row;
  if (sealer === undefined) throw new ImportError(`row '${key}' of '${table}' is sealed, but the header names no key`);
  try {
    return { table, key, value: sealer.unseal(row.sealed, sealPlace(table, key)) };
  } catch (cause) {
    throw new ImportError(`row '${key}' of '${table}' cannot be unsealed: another passphrase or data key was used`, {
      cause,
    });
  }
}

async function* readLines(file: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(file, 'utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LINE_CHARACTERS_MAX) throw new ImportError(`'${file}' has a line that is too long for an export`);
    yield* lines;
  }
  if (rest !== '') yield rest;
}
