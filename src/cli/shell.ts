/** What commands need of the process they run in, passed in so that tests run whole commands. */
import type { Readable, Writable } from 'node:stream';

export interface Shell {
  /** What is piped in; read only by commands that say so. */
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** Results, and nothing else. */
  readonly stdout: Writable;
  /** Everything else. */
  readonly stderr: Writable;
  /** The client's variables: `ACCORD_ADDRESS`, `ACCORD_TOKEN`, `ACCORD_API_TOKEN`, `ACCORD_CA_FILE`, `ACCORD_DATA_DIR`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  /** Aborted when the user interrupts the command; not asked for by `server`, which has its own signals. */
  readonly interrupted: () => AbortSignal;
  /** Waits. @throws the reason of `signal` */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly local: LocalCommands;
}

/** A flag of the server's settings. */
export interface SettingFlag {
  /** `http.address` */
  readonly key: string;
  /** `--http-address` */
  readonly flag: string;
  readonly meaning: string;
}

/** Settings as they stand on the command line. */
export interface GivenSettings {
  /** By key. */
  readonly flags: ReadonlyMap<string, string>;
  readonly configFile: string | undefined;
}

/** How a server is started. */
export interface ServeOptions extends GivenSettings {
  /** An export to fill the empty store with. */
  readonly importFile: string | undefined;
  readonly importPassphrase: string | undefined;
  /** Makes new first credentials. */
  readonly recover: boolean;
}

/** The commands that run here instead of asking a server; what they stand on is not the client's to know. */
export interface LocalCommands {
  readonly settingFlags: readonly SettingFlag[];
  /** Runs a server until it is stopped. @returns its exit code; @throws CommandError `usage` for bad settings */
  serve(options: ServeOptions): Promise<number>;
  /** The settings in force. @throws CommandError `usage` */
  settingsInForce(given: GivenSettings): Promise<{
    readonly settings: readonly { readonly key: string; readonly value: string; readonly from: string }[];
    readonly warnings: readonly string[];
  }>;
}

/** Writes lines to standard error. */
export function note(shell: Shell, ...lines: string[]): void {
  for (const line of lines) shell.stderr.write(`${line}\n`);
}
