/** Reads an export file line by line, and validates the shape of each line and the checksum. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { EXPORT_FORMAT, EXPORT_VERSION, type ExportEnd, type ExportHeader, type ExportRow } from './export-format.ts';

/** The longest line, which is one row. Request limits keep rows far below it. */
const LINE_CHARACTERS_MAX = 64 * 1024 * 1024;

/** Thrown for a file that is not a complete, unchanged export, or that the given key cannot decrypt. */
export class ImportError extends Error {
  override readonly name = 'ImportError';
}

export interface ExportFile extends AsyncDisposable {
  readonly path: string;
  readonly header: ExportHeader;
  /** Reads the rows; can be called once. Ends normally only if the checksum matches. @throws ImportError */
  rows(): AsyncIterable<ExportRow>;
}

/** Opens an export file and reads its header. @throws ImportError */
export async function openExportFile(path: string): Promise<ExportFile> {
  const lines = readLines(path);
  const close = async (): Promise<void> => void (await lines.return());
  try {
    const first = await lines.next();
    const text = first.done ? '' : first.value;
    const header = readHeader(path, text);
    return { path, header, rows: () => readRows(path, text, lines), [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function* readRows(path: string, headerLine: string, lines: AsyncIterable<string>): AsyncGenerator<ExportRow> {
  const digest = createHash('sha256').update(`${headerLine}\n`);
  let rows = 0;
  let end: ExportEnd | undefined;
  for await (const line of lines) {
    if (end !== undefined) throw new ImportError(`'${path}' continues after its checksum`);
    const parsed = parse(line);
    if (isEnd(parsed)) {
      end = parsed;
      continue;
    }
    if (!isRow(parsed)) throw new ImportError(`line ${rows + 2} of '${path}' is not a row of an export`);
    digest.update(`${line}\n`);
    rows += 1;
    yield parsed;
  }
  if (end === undefined) throw new ImportError(`'${path}' ends without its checksum: create the export again`);
  if (end.rows !== rows || end.sha256 !== digest.digest('hex')) {
    throw new ImportError(`the checksum of '${path}' does not match: it was changed or damaged`);
  }

  function parse(line: string): unknown {
    try {
      return JSON.parse(line);
    } catch (cause) {
      throw new ImportError(`'${path}' has a line that is not JSON: it is damaged or cut off`, { cause });
    }
  }
}

function readHeader(path: string, line: string): ExportHeader {
  let header: unknown;
  try {
    header = JSON.parse(line);
  } catch (cause) {
    throw new ImportError(`'${path}' is not an export of Accord: its first line is not JSON`, { cause });
  }
  if (!isObject(header) || header['format'] !== EXPORT_FORMAT) {
    throw new ImportError(`'${path}' is not an export of Accord`);
  }
  if (header['version'] !== EXPORT_VERSION) {
    const version = JSON.stringify(header['version']);
    throw new ImportError(`'${path}' has format version ${version}, but this version reads ${EXPORT_VERSION}`);
  }
  if (!isHeader(header)) throw new ImportError(`'${path}' has a header with missing or invalid fields`);
  return header;
}

function isHeader(header: Fields): header is ExportHeader & Fields {
  const { cluster, epoch, index, time, sealed, leftOut } = header;
  return (
    typeof cluster === 'string' &&
    isCount(epoch) &&
    isCount(index) &&
    typeof time === 'string' &&
    (sealed === null || isKeySource(sealed)) &&
    isObject(leftOut) &&
    Object.values(leftOut).every(isCount)
  );
}

const isKeySource = (value: unknown): boolean =>
  isObject(value) &&
  (value['key'] === 'data-key' || (value['key'] === 'passphrase' && typeof value['salt'] === 'string'));

function isRow(value: unknown): value is ExportRow {
  if (!isObject(value)) return false;
  const { table, key, value: stored, sealed } = value;
  return (
    typeof table === 'string' &&
    typeof key === 'string' &&
    (typeof stored === 'string') !== (typeof sealed === 'string')
  );
}

const isEnd = (value: unknown): value is ExportEnd => isObject(value) && 'sha256' in value;

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

async function* readLines(path: string): AsyncGenerator<string, void> {
  let rest = '';
  try {
    for await (const chunk of createReadStream(path, 'utf8') as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > LINE_CHARACTERS_MAX)
        throw new ImportError(`'${path}' has a line that is too long for an export`);
      yield* lines;
    }
  } catch (cause) {
    if (cause instanceof ImportError) throw cause;
    throw new ImportError(`cannot read '${path}': ${(cause as Error).message}`, { cause });
  }
  if (rest !== '') yield rest;
}
