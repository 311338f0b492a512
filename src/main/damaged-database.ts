/** The two ways to continue with a damaged SQLite database: export what is whole, or rebuild the database from it. */
import { copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '../config.ts';
import type { Log } from '../http/telemetry/log.ts';
import { findDamage, foldLog } from '../state/engine/sqlite/check.ts';
import { openSalvage } from '../state/engine/sqlite/salvage.ts';
import { dataKeyCipher, passphraseCipher } from '../state/transfer/encryption.ts';
import { exportSalvage, rebuildFrom } from '../state/transfer/salvage.ts';
import { SCHEMA } from './schema.ts';

const DATABASE = 'accord.db';
/** The directory in `data-dir` in which the new database is built. */
const REBUILD = 'rebuild';

/**
 * Yields the chunks of an export of what is whole in the database of a stopped server. The passphrase, or else the data
 * key, encrypts secrets.
 * @throws StateError `locked` | `unavailable`
 */
export async function* exportOffline(config: Config, passphrase: string | undefined): AsyncGenerator<string> {
  const { dataDir, dataKey } = config;
  const key = dataKey === undefined ? undefined : dataKeyCipher(Buffer.from(dataKey.read()));
  const cipher = passphrase === undefined ? key : await passphraseCipher(passphrase);
  using salvage = openSalvage(path.join(dataDir, DATABASE));
  yield* exportSalvage(salvage, SCHEMA, { cipher, now: Date.now() });
}

/**
 * Rebuilds a damaged database from its whole rows, and keeps the damaged files under other names. A rebuild that was
 * interrupted anywhere leaves a database that the next one rebuilds, or the new database [SQLITE-55].
 */
export async function rebuildIfDamaged(directory: string, log: Log, signal: AbortSignal): Promise<void> {
  const file = path.join(directory, DATABASE);
  if (!existsSync(file)) return;
  const damage = findDamage(file);
  if (damage === undefined) return;
  const suffix = `.damaged-${new Date().toISOString().replaceAll(':', '')}`;
  const writeAheadLog = `${file}-wal`;
  if (existsSync(writeAheadLog)) {
    copyFileSync(writeAheadLog, `${writeAheadLog}${suffix}`);
    // A log beside another database would damage that one.
    foldLog(file);
  }
  const rebuilt = path.join(directory, REBUILD);
  rmSync(rebuilt, { recursive: true, force: true });
  const build = async () => {
    using salvage = openSalvage(file);
    return await rebuildFrom(salvage, SCHEMA, rebuilt, signal);
  };
  const skipped = await build();
  linkSync(file, `${file}${suffix}`);
  rmSync(writeAheadLog, { force: true });
  renameSync(path.join(rebuilt, DATABASE), file);
  rmSync(rebuilt, { recursive: true, force: true });
  await using folder = await open(directory, 'r');
  await folder.sync();
  log.warn({ file, aside: `${file}${suffix}`, damage, skipped }, 'damaged database rebuilt');
}

/**
 * Removes what a killed rebuild left beside a database that is whole. Call it after the state is loaded: the rebuild of
 * another process would hold the lock.
 */
export function removeInterruptedRebuild(directory: string): void {
  rmSync(path.join(directory, REBUILD), { recursive: true, force: true });
}
