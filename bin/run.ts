/** Connects the command line with the settings and the server. */
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { CommandError } from '../src/cli/errors.ts';
import { runCommand } from '../src/cli/program.ts';
import type { LocalCommands, SettingFlag, Shell } from '../src/cli/shell.ts';
import { ConfigError, describeOrigin } from '../src/config/error.ts';
import { defaultShown, flagOf, settingKeys, settingOf } from '../src/config/table.ts';
import { clientEnvironment, loadConfig, processSources, reloadConfig } from '../src/config.ts';
import { withFixedYoungGeneration } from '../src/main/young-generation.ts';

/** Runs the command in `args`. @returns the exit code */
export function run(args: readonly string[]): Promise<number> {
  const interruption = new AbortController();
  let isListening = false;
  const shell: Shell = {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    environment: clientEnvironment(),
    version: packageVersion(),
    interruptSignal() {
      // A handler disables a signal's default effect, so it is installed only when a command asks for the signal.
      for (const name of isListening ? [] : (['SIGINT', 'SIGTERM'] as const)) {
        process.once(name, () => interruption.abort());
      }
      isListening = true;
      return interruption.signal;
    },
    pause: (ms, signal) => delay(ms, undefined, { signal }),
    local,
  };
  // The reader of the output may close it early (`accord … | head`).
  process.stdout.on('error', () => interruption.abort());
  return runCommand(args, shell);
}

const local: LocalCommands = {
  settingFlags: settingKeys.map((key): SettingFlag => {
    const setting = settingOf(key);
    return { key, flag: flagOf(key), description: `${setting.meaning} Default: ${defaultShown(setting)}` };
  }),
  serve: ({ flags, configFile, ...start }) =>
    withUsageErrors(async () => {
      const sources = processSources(flags, configFile);
      const loaded = await loadConfig(sources);
      const { serve } = await withFixedYoungGeneration(() => import('../src/main.ts'));
      return await serve({
        loaded,
        reload: (current) => reloadConfig(sources, current),
        version: packageVersion(),
        ...start,
      });
    }),
  exportOffline: ({ dataDir, passphrase }) =>
    withUsageErrors(async () => {
      const flags = new Map(dataDir === undefined ? [] : [['data-dir', dataDir]]);
      const { config } = await loadConfig(processSources(flags, undefined));
      const { exportOffline } = await import('../src/main/damaged-database.ts');
      return withStateErrors(exportOffline(config, passphrase));
    }),
  effectiveSettings: ({ flags, configFile }) =>
    withUsageErrors(async () => {
      const { inForce, warnings } = await loadConfig(processSources(flags, configFile));
      const settings = inForce.map(({ key, shown, origin }) => ({ key, value: shown, from: describeOrigin(origin) }));
      return { settings, warnings };
    }),
};

/** Turns ConfigError into a usage error of the command line. */
async function withUsageErrors<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandError('usage', error.message, { cause: error });
    throw error;
  }
}

/** Turns an error of the state, whose message is complete, into one of the command line. */
async function* withStateErrors(chunks: AsyncIterable<string>): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of chunks) yield Buffer.from(chunk);
  } catch (cause) {
    if (cause instanceof Error && cause.name === 'StateError')
      throw new CommandError('failed', cause.message, { cause });
    throw cause;
  }
}

function packageVersion(): string {
  const path = findPackageJSON('..', import.meta.url);
  if (path === undefined) throw new Error('the package.json of accord is missing');
  return JSON.parse(readFileSync(path, 'utf8')).version;
}
