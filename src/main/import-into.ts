/** `accord server --import-file`: an empty store is filled before anything else is in it. */
import type { Log } from '../http/log.ts';
import type { Engine } from '../state/engine.ts';
import { ImportError, importFile } from '../state/import.ts';
import { passphraseSealer, type Sealer, type SealRecipe } from '../state/sealing.ts';

export interface ImportOptions {
  readonly importFile: string | undefined;
  readonly importPassphrase: string | undefined;
}

/** Fills the store of the engine, if a file is named. @throws ImportError, StateError `not-empty` */
export async function importInto(
  engine: Engine,
  { importFile: file, importPassphrase }: ImportOptions,
  dataKey: Sealer | undefined,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  if (file === undefined) return;
  const sealerFor = async (recipe: SealRecipe): Promise<Sealer> => {
    if (recipe.key === 'data-key') {
      if (dataKey !== undefined) return dataKey;
      throw new ImportError(
        `'${file}' is encrypted with a data key: set data-key-file to the one of the exporting server`,
      );
    }
    if (importPassphrase !== undefined) return await passphraseSealer(importPassphrase, recipe.salt);
    throw new ImportError(
      `'${file}' is encrypted with a passphrase: name a file that holds it with --import-passphrase-file`,
    );
  };
  const { header, rows } = await importFile(engine, file, sealerFor, signal);
  log.info({ rows, exported: header.time, index: header.index }, 'imported');
  for (const [table, count] of Object.entries(header.leftOut)) {
    log.warn({ table, count }, 'rows with secrets were left out of the export: make them again');
  }
}
