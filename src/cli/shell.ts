/** The process environment of a command. It is passed in, so that tests can run whole commands. */
import type { Readable, Writable } from 'node:stream';

export interface Shell {
  /** Read only by commands whose help mentions it. */
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** Receives results only. */
  readonly stdout: Writable;
  /** Receives status, warnings, prompts, and errors. */
  readonly stderr: Writable;
  /** `ACCORD_ADDRESS`, `ACCORD_TOKEN`, `ACCORD_API_TOKEN`, `ACCORD_CA_FILE`, and `ACCORD_DATA_DIR`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** Returns a signal that aborts when the user interrupts the command. `server` handles signals itself. */
  readonly interruptSignal: () => AbortSignal;
  /** Waits. @throws the reason of `signal` */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly local: LocalCommands;
}

export interface SettingFlag {
  /** `http.address` */
  readonly key: string;
  /** `--http-address` */
  readonly flag: string;
  readonly description: string;
}

export interface CommandLineSettings {
  /** Values by setting key. */
  readonly flags: ReadonlyMap<string, string>;
  readonly configFile: string | undefined;
}

export interface ServeOptions extends CommandLineSettings {
  /** An export to load into the empty store. */
  readonly importFile: string | undefined;
  readonly importPassphrase: string | undefined;
  /** Whether to create new first credentials. */
  readonly recover: boolean;
}

/** Commands that run in this process. They are passed in because the client imports no server code. */
export interface LocalCommands {
  readonly settingFlags: readonly SettingFlag[];
  /** Runs a server until it stops. @returns its exit code; @throws CommandError `usage` for invalid settings */
  serve(options: ServeOptions): Promise<number>;
  /**
   * Returns an export of what is whole in the SQLite database of a stopped server. `dataDir` defaults to the setting.
   * @throws CommandError `usage`; the export throws CommandError `failed` if a server runs, or the file is unreadable
   */
  exportOffline(options: {
    readonly dataDir: string | undefined;
    readonly passphrase: string | undefined;
  }): Promise<AsyncIterable<Buffer>>;
  /** Returns the effective settings and their origins. @throws CommandError `usage` */
  effectiveSettings(given: CommandLineSettings): Promise<{
    readonly settings: readonly { readonly key: string; readonly value: string; readonly from: string }[];
    readonly warnings: readonly string[];
  }>;
}

/** Writes lines to standard error. */
export function note(shell: Shell, ...lines: string[]): void {
  for (const line of lines) shell.stderr.write(`${line}\n`);
}
