/** Imports an export into an empty store. Every row is validated before the import commits. See [STATE-97]. */

import { type Engine, EPOCH_STEP, type StoredRow } from '../engine/engine.ts';
import { isStateError } from '../errors.ts';
import { decodeRow } from '../memory/codec.ts';
import { type AnyTable, type Schema, SEPARATOR, type Stored } from '../table.ts';
import type { KeySource, TextCipher } from './encryption.ts';
import { type ExportFile, ImportError } from './export-file.ts';
import { associatedData, type ExportRow } from './export-format.ts';

const PAGE_ROWS = 2_000;
const PAGE_CHARACTERS = 1024 * 1024;

export interface ImportParts {
  readonly engine: Engine;
  readonly schema: Schema;
  /** Returns the cipher for the key source of the file. */
  readonly cipherFor: (keySource: KeySource) => Promise<TextCipher>;
  readonly signal: AbortSignal;
}

/**
 * Fills the engine's store from `file`, all or nothing. A row that this version cannot load fails the import. The head
 * starts a new epoch above every index that the exporting server may have served since the export.
 * @returns the number of rows
 * @throws ImportError, StateError `not-empty`
 */
export async function importExport(
  file: ExportFile,
  { engine, schema, cipherFor, signal }: ImportParts,
): Promise<number> {
  const { cluster, epoch, index, sealed } = file.header;
  const cipher = sealed === null ? undefined : await cipherFor(sealed);
  let rows = 0;
  async function* pages(): AsyncGenerator<StoredRow[]> {
    let page: StoredRow[] = [];
    let characters = 0;
    for await (const exported of file.rows()) {
      signal.throwIfAborted();
      const row = decryptRow(exported, cipher);
      checkRow(schema, file, row);
      rows += 1;
      page.push(row);
      characters += row.value.length;
      if (page.length < PAGE_ROWS && characters < PAGE_CHARACTERS) continue;
      yield page;
      page = [];
      characters = 0;
    }
    if (page.length > 0) yield page;
  }
  await engine.import({ cluster, epoch: epoch + 1, index: index + EPOCH_STEP }, pages(), signal);
  return rows;
}

function decryptRow(row: ExportRow, cipher: TextCipher | undefined): StoredRow {
  const { table, key } = row;
  if ('value' in row) return row;
  if (cipher === undefined) {
    throw new ImportError(`row '${key}' of '${table}' is encrypted, but the header names no key`);
  }
  try {
    return { table, key, value: cipher.decrypt(row.sealed, associatedData(table, key)) };
  } catch (cause) {
    throw new ImportError(`row '${key}' of '${table}' cannot be decrypted: another passphrase or data key was used`, {
      cause,
    });
  }
}

/** Rejects a row that a later start could not load. @throws ImportError */
function checkRow(schema: Schema, { path, header }: ExportFile, { table: name, key, value }: StoredRow): void {
  const table = schema.byName.get(name);
  if (table === undefined) {
    throw new ImportError(
      `'${path}' has rows of a table '${name}', which this version of Accord does not know: import it with the version that wrote it, or a later one`,
    );
  }
  const stored = decode(path, table, key, value);
  const { createIndex, modifyIndex } = stored;
  const isDated = isIndex(createIndex) && isIndex(modifyIndex) && createIndex <= modifyIndex;
  if (isDated && modifyIndex <= header.index && hasValidKeys(table, key, stored)) return;
  throw new ImportError(`'${path}': row '${key}' of table '${name}' is not a valid row of that table: it was changed`);
}

const isIndex = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

function decode(path: string, table: AnyTable, key: string, value: string): Stored<unknown> {
  try {
    return decodeRow(table, key, value);
  } catch (cause) {
    if (isStateError(cause)) throw new ImportError(`'${path}': ${cause.message}`, { cause });
    throw new ImportError(`'${path}': row '${key}' of table '${table.name}' cannot be read`, { cause });
  }
}

/** Whether the row has the given key and valid index entries. Key and entry functions may throw for an invalid row. */
function hasValidKeys(table: AnyTable, key: string, { row }: Stored<unknown>): boolean {
  try {
    return (
      table.key(row as object) === key &&
      table.indexList.every(({ entry, unique }) => {
        const value: unknown = entry(row as object);
        return value === undefined || (typeof value === 'string' && (unique === true || !value.includes(SEPARATOR)));
      })
    );
  } catch {
    return false;
  }
}
