/** `accord server --import-file`: an empty store is filled before anything else is in it. */
import type { Log } from '../http/telemetry/log.ts';
import type { Engine } from '../state/engine/engine.ts';
import { isStateError, StateError } from '../state/errors.ts';
import { passphraseSealer, type Sealer, type SealRecipe } from '../state/transfer/encryption.ts';
import { type ExportFile, ImportError, openExportFile } from '../state/transfer/export-file.ts';
import { importExport } from '../state/transfer/import.ts';
import { SCHEMA } from './schema.ts';

/** Opens the file that `--import-file` names, before the store is touched. @throws ImportError */
export async function openImport(path: string | undefined): Promise<ExportFile | undefined> {
  try {
    return path === undefined ? undefined : await openExportFile(path);
  } catch (cause) {
    if (!(cause instanceof ImportError)) throw cause;
    throw new ImportError(`--import-file: ${cause.message}`, { cause });
  }
}

export interface ImportKeys {
  readonly passphrase: string | undefined;
  readonly dataKey: Sealer | undefined;
}

/** Fills the store of the engine with the export, and closes it. @throws ImportError, StateError `not-empty` */
export async function importInto(
  engine: Engine,
  file: ExportFile,
  { passphrase, dataKey }: ImportKeys,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  await using _ = file;
  const { path, header } = file;
  const sealerFor = async (recipe: SealRecipe): Promise<Sealer> => {
    if (recipe.key === 'data-key') {
      if (dataKey !== undefined) return dataKey;
      throw new ImportError(
        `'${path}' is encrypted with a data key: set data-key-file to the one of the exporting server`,
      );
    }
    if (passphrase !== undefined) return await passphraseSealer(passphrase, recipe.salt);
    throw new ImportError(
      `'${path}' is encrypted with a passphrase: name a file that holds it with --import-passphrase-file`,
    );
  };
  const parts = { engine, schema: SCHEMA, sealerFor, signal };
  const rows = await importExport(file, parts).catch((error) => refusal(path, error));
  log.info({ rows, exported: header.time, index: header.index }, 'imported');
  for (const [table, count] of Object.entries(header.leftOut)) {
    log.warn({ table, count }, 'rows with secrets were left out of the export: make them again');
  }
}

/** Most often the import was made already, and the command line kept its flag. */
function refusal(path: string, cause: unknown): Promise<never> {
  if (!isStateError(cause, 'not-empty')) throw cause;
  const mend =
    'if it has been imported already, start without --import-file; otherwise choose an empty data-dir or etcd.prefix';
  throw new StateError('not-empty', `cannot import '${path}', ${cause.message}: ${mend}`, { cause });
}
