/** Imports the file of `accord server --import-file` into an empty store. */
import { type Cluster, cluster } from '../credentials/cluster.ts';
import { checkDatacenter } from '../credentials/first-credentials.ts';
import type { Log } from '../http/telemetry/log.ts';
import type { Engine } from '../state/engine/engine.ts';
import { isStateError, StateError } from '../state/errors.ts';
import { decodeRow } from '../state/memory/codec.ts';
import { type KeySource, passphraseCipher, type TextCipher } from '../state/transfer/encryption.ts';
import { type ExportFile, ImportError, openExportFile } from '../state/transfer/export-file.ts';
import { importExport } from '../state/transfer/import.ts';
import { SCHEMA } from './schema.ts';

/** Opens the file of `--import-file`, before the store is opened. @throws ImportError */
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
  readonly dataKey: TextCipher | undefined;
  /** `cluster.datacenter`, if it is set. The export must be of this datacenter. */
  readonly datacenter: string | undefined;
}

/**
 * Imports the file into the engine's store and closes the file.
 * @throws ImportError, StateError `not-empty`, FirstStartError if the settings name another datacenter
 */
export async function importInto(
  engine: Engine,
  file: ExportFile,
  { passphrase, dataKey, datacenter }: ImportKeys,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  await using _ = file;
  const { path, header } = file;
  const cipherFor = async (source: KeySource): Promise<TextCipher> => {
    if (source.key === 'data-key') {
      if (dataKey !== undefined) return dataKey;
      throw new ImportError(
        `'${path}' is encrypted with a data key: set data-key-file to the key of the exporting server`,
      );
    }
    if (passphrase !== undefined) return await passphraseCipher(passphrase, source.salt);
    throw new ImportError(
      `'${path}' is encrypted with a passphrase: pass a file that contains it with --import-passphrase-file`,
    );
  };
  const rows = await importExport(datacenter === undefined ? file : ofDatacenter(file, datacenter), {
    engine,
    schema: SCHEMA,
    cipherFor,
    signal,
  }).catch((error) => importFailed(path, error));
  log.info({ rows, exported: header.time, index: header.index }, 'state imported');
  for (const [table, count] of Object.entries(header.leftOut)) {
    log.warn({ table, count, remedy: 'create them again' }, 'rows with secrets are missing from the export');
  }
}

/** Returns the file with a check of its datacenter, which fails before the import commits. */
const ofDatacenter = (file: ExportFile, datacenter: string): ExportFile => ({
  path: file.path,
  header: file.header,
  async *rows() {
    for await (const row of file.rows()) {
      if (row.table === cluster.name && 'value' in row)
        checkDatacenter((decodeRow(cluster, row.key, row.value).row as Cluster).datacenter, datacenter);
      yield row;
    }
  },
  [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
});

/** Adds a remedy to `not-empty`, because the usual cause is a second start with the same flag. */
function importFailed(path: string, cause: unknown): Promise<never> {
  if (!isStateError(cause, 'not-empty')) throw cause;
  const remedy =
    'if the file was imported already, start without --import-file; otherwise choose an empty data-dir or etcd.prefix';
  throw new StateError('not-empty', `cannot import '${path}', ${cause.message}: ${remedy}`, { cause });
}
