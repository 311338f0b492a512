/** The messages between the SQLite engine and its worker thread. */
import type { Head, ScanRange } from '../engine.ts';

export type Request =
  | { readonly kind: 'open'; readonly file: string }
  | { readonly kind: 'commit'; readonly epoch: number; readonly base: number; readonly operations: EncodedOperations }
  | { readonly kind: 'load'; readonly except: readonly string[] }
  | { readonly kind: 'page' }
  | { readonly kind: 'verify' }
  | { readonly kind: 'head' }
  | { readonly kind: 'free-bytes' }
  | { readonly kind: 'scan'; readonly table: string; readonly range: ScanRange }
  | { readonly kind: 'import-begin' }
  | { readonly kind: 'import-rows'; readonly operations: EncodedOperations }
  | { readonly kind: 'import-commit'; readonly head: Head }
  | { readonly kind: 'import-rollback' }
  | { readonly kind: 'close' };

/** One NUL-separated text, cheap to pass between threads: `PUT` or `REMOVE`, table, key, value, … [SQLITE-31]. */
export type EncodedOperations = string & { readonly encoded: unique symbol };

export const PUT = '+';
export const REMOVE = '-';

/** A page of one table; `keys[i]` belongs to `values[i]`. */
export interface LoadedPage {
  readonly table: string;
  readonly keys: readonly string[];
  readonly values: readonly string[];
}

/** A page of a scan. A value is `null` if its row is damaged. */
export interface ScannedPage {
  readonly table: string;
  readonly keys: readonly string[];
  readonly values: readonly (string | null)[];
}

export interface Responses {
  readonly open: Head;
  readonly commit: 'committed' | 'conflict';
  readonly load: Head;
  readonly head: Head;
  readonly 'free-bytes': number;
  /** Undefined at the end of the load. */
  readonly page: LoadedPage | undefined;
  readonly verify: null;
  readonly scan: ScannedPage;
  readonly 'import-begin': null;
  readonly 'import-rows': null;
  readonly 'import-commit': null;
  readonly 'import-rollback': null;
  readonly close: null;
}

export interface RequestMessage {
  readonly id: number;
  readonly request: Request;
}

export interface ResponseMessage {
  readonly id: number;
  readonly response?: unknown;
  readonly failure?: Failure;
}

/** The error of a request. After `fatal` the outcome is unknown, so the process must end. */
export interface Failure {
  readonly code: 'full' | 'locked' | 'corrupt' | 'damaged' | 'not-empty' | 'unavailable' | 'fatal';
  readonly message: string;
}

export interface WorkerSettings {
  /** Delay before each COMMIT returns, in milliseconds, to simulate a slow disk in measurements. */
  readonly simulatedSyncMs: number;
}
