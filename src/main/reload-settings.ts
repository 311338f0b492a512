/** What SIGHUP does to the settings: they are read again, and those that a running server can change take effect. */
import type { Config, LoadedConfig, ReloadedConfig } from '../config.ts';
import type { Log } from '../http/telemetry/log.ts';

export interface SettingsSource {
  /** What is in force at the start. */
  readonly loaded: LoadedConfig;
  /** Reads the sources of the settings again; what cannot change in a running server stays as it is. */
  readonly reload: (current: LoadedConfig) => Promise<ReloadedConfig>;
}

/**
 * Makes the function that reads them again and puts them into force, the log's level by itself and the rest by `apply`.
 * It never fails: settings that make no sense are told and left aside.
 */
export function createReload(
  { loaded, reload }: SettingsSource,
  log: Log,
  apply: (config: Config) => void,
): () => Promise<void> {
  let current = loaded;
  return async () => {
    try {
      const { changed, restartNeeded, ...next } = await reload(current);
      current = next;
      log.level = next.config.log.level;
      apply(next.config);
      log.info({ changed }, 'read the settings again');
      if (restartNeeded.length > 0) log.warn({ restartNeeded }, 'changed settings wait for the next start');
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.error(`the settings cannot be read again, those in force stay: ${reason}`);
    }
  };
}
