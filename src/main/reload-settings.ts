/** Reloads the settings on SIGHUP. Only some settings can change in a running server. */
import type { Config, LoadedConfig, ReloadedConfig } from '../config.ts';
import type { Log } from '../http/telemetry/log.ts';

export interface SettingsSource {
  readonly loaded: LoadedConfig;
  /** Reads the sources again and keeps the settings that cannot change in a running server. */
  readonly reload: (current: LoadedConfig) => Promise<ReloadedConfig>;
}

/** Returns a function that reloads settings, sets the log level, and calls `apply`. It logs errors and never throws. */
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
      log.info({ changed }, 'settings reloaded');
      if (restartNeeded.length > 0) log.warn({ restartNeeded }, 'changed settings need a restart');
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.error({ reason }, 'settings reload failed');
    }
  };
}
