/** Reads an export into an empty store: everything is checked before it counts. */

import { type Engine, EPOCH_STEP, type StoredRow } from '../engine/engine.ts';
import { isStateError } from '../errors.ts';
import { decodeRow } from '../memory/codec.ts';
import { type AnyTable, type Schema, SEPARATOR, type Stored } from '../table.ts';
import type { Sealer, SealRecipe } from './encryption.ts';
import { type ExportFile, ImportError } from './export-file.ts';
import { type ExportRow, sealPlace } from './export-format.ts';

/** Rows handed to the engine at once. */
const PAGE_ROWS = 2_000;

export interface ImportParts {
  readonly engine: Engine;
  readonly schema: Schema;
  /** Gives the sealer for the file's recipe. */
  readonly sealerFor: (recipe: SealRecipe) => Promise<Sealer>;
  readonly signal: AbortSignal;
}

/**
 * Fills the engine's store from `file` in one step that is all or nothing: a row that this version could not load fails
 * it. Its head goes on in a new epoch, above every index that the exporting server can have served meanwhile.
 * @returns how many rows there were
 * @throws ImportError, StateError `not-empty`
 */
export async function importExport(
  file: ExportFile,
  { engine, schema, sealerFor, signal }: ImportParts,
): Promise<number> {
  const { cluster, epoch, index, sealed } = file.header;
  const sealer = sealed === null ? undefined : await sealerFor(sealed);
  let rows = 0;
  async function* pages(): AsyncGenerator<StoredRow[]> {
    let page: StoredRow[] = [];
    for await (const exported of file.rows()) {
      signal.throwIfAborted();
      const row = openRow(exported, sealer);
      checkRow(schema, file, row);
      rows += 1;
      page.push(row);
      if (page.length < PAGE_ROWS) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }
  await engine.import({ cluster, epoch: epoch + 1, index: index + EPOCH_STEP }, pages(), signal);
  return rows;
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

/** Does with a row what loading it would do, so that nothing is committed that no start could read. @throws ImportError */
function checkRow(schema: Schema, { path, header }: ExportFile, { table: name, key, value }: StoredRow): void {
  const table = schema.byName.get(name);
  if (table === undefined) {
    throw new ImportError(
      `'${path}' has rows of a table '${name}', which this version of Accord does not know: import it with the version that made it, or a later one`,
    );
  }
  const stored = decode(path, table, key, value);
  const { createIndex, modifyIndex } = stored;
  const isDated = isIndex(createIndex) && isIndex(modifyIndex) && createIndex <= modifyIndex;
  if (isDated && modifyIndex <= header.index && standsUnder(table, key, stored)) return;
  throw new ImportError(
    `'${path}': row '${key}' of table '${name}' is not what a row of that table is: it was changed`,
  );
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

/** Whether the table's functions find the key and entries in the row. They take it for what its type says, and may throw. */
function standsUnder(table: AnyTable, key: string, { row }: Stored<unknown>): boolean {
  try {
    return (
      table.key(row as object) === key &&
      table.indexList.every(({ entry, unique }) => {
        const found: unknown = entry(row as object);
        return found === undefined || (typeof found === 'string' && (unique === true || !found.includes(SEPARATOR)));
      })
    );
  } catch {
    return false;
  }
}
