/** What the engine asks its worker thread, and what comes back. */
import type { Head, ScanRange } from '../engine.ts';

export type Request =
  | { readonly kind: 'open'; readonly file: string }
  | { readonly kind: 'commit'; readonly epoch: number; readonly base: number; readonly operations: FlatOperations }
  | { readonly kind: 'load'; readonly except: readonly string[] }
  | { readonly kind: 'page' }
  | { readonly kind: 'head' }
  | { readonly kind: 'scan'; readonly table: string; readonly range: ScanRange }
  | { readonly kind: 'import-begin' }
  | { readonly kind: 'import-rows'; readonly operations: FlatOperations }
  | { readonly kind: 'import-end'; readonly head: Head }
  | { readonly kind: 'import-undo' }
  | { readonly kind: 'close' };

/**
 * Operations as one text: what to do (`PUT` or `REMOVE`), table, key, value, what to do, … separated by NUL, which none
 * of them contains (JSON escapes it). One text crosses to another thread at a fraction of the cost of many.
 */
export type FlatOperations = string & { readonly flat: unique symbol };

export const PUT = '+';
export const REMOVE = '-';

/** A page of one table: keys and values in step. `undefined` ends the load. */
export interface LoadedPage {
  readonly table: string;
  readonly keys: readonly string[];
  readonly values: readonly string[];
}

export interface Answers {
  readonly open: Head;
  readonly commit: 'committed' | 'conflict';
  readonly load: Head;
  readonly head: Head;
  readonly page: LoadedPage | undefined;
  readonly scan: LoadedPage;
  readonly 'import-begin': null;
  readonly 'import-rows': null;
  readonly 'import-end': null;
  readonly 'import-undo': null;
  readonly close: null;
}

export interface WireRequest {
  readonly id: number;
  readonly request: Request;
}

export interface WireAnswer {
  readonly id: number;
  readonly answer?: unknown;
  readonly failure?: Failure;
}

/** How a request failed; `fatal` leaves the outcome in doubt, so the process must end. */
export interface Failure {
  readonly code: 'full' | 'locked' | 'corrupt' | 'not-empty' | 'unavailable' | 'fatal';
  readonly message: string;
}

/** Handed to the worker when it is started. */
export interface WorkerSettings {
  /** Waits that long before each COMMIT returns, as a slow disk would; for measurements. */
  readonly simulatedSyncMs: number;
}
