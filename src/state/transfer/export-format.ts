/**
 * The format of an export in JSON lines: a header, one line for each row, and a last line with a checksum. Rows of
 * tables that hold secrets are encrypted, or left out and counted if there is no key. See [STATE-93] to [STATE-95].
 */
import type { KeySource } from './encryption.ts';

export const EXPORT_FORMAT = 'accord-export';
export const EXPORT_VERSION = 1;

export interface ExportHeader {
  readonly format: typeof EXPORT_FORMAT;
  readonly version: number;
  readonly cluster: string;
  readonly epoch: number;
  readonly index: number;
  /** RFC 3339. */
  readonly time: string;
  /** The key of the encrypted rows; null if rows that hold secrets are left out. */
  readonly sealed: KeySource | null;
  /** The number of rows left out, by table. */
  readonly leftOut: Readonly<Record<string, number>>;
}

/** A row: either `value`, the stored text, or `sealed`, the same text encrypted. */
export type ExportRow =
  | { readonly table: string; readonly key: string; readonly value: string }
  | { readonly table: string; readonly key: string; readonly sealed: string };

export interface ExportEnd {
  readonly rows: number;
  /** The damaged rows that were skipped, by table; missing if all rows were whole. */
  readonly skipped?: Skipped;
  /** SHA-256 of every byte before this line, hexadecimal. */
  readonly sha256: string;
}

/** Rows that were skipped because they are damaged, by table. */
export type Skipped = Readonly<Record<string, SkippedRows>>;

export interface SkippedRows {
  /** At least this many: damage can hide rows. */
  readonly count: number;
  /** The keys of the first of them. The key of an unreadable row is unknown. */
  readonly keys: readonly string[];
  /** The reason why the rest of the table could not be read. */
  readonly unreadable?: string;
}

export const associatedData = (table: string, key: string): string => `${table}\u0000${key}`;
