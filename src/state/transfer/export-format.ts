/**
 * The format of an export: JSON lines. The first says what it is, then a line a row, the last a checksum over every byte
 * before it. Rows of tables that hold secrets are in it only sealed; without a key they are left out and counted.
 */
import type { SealRecipe } from './encryption.ts';

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
  /** How sealed rows are unsealed; null: rows that hold secrets are left out. */
  readonly sealed: SealRecipe | null;
  /** Rows left out, by table. */
  readonly leftOut: Readonly<Record<string, number>>;
}

/** A row; `value` is what is stored, `sealed` the same encrypted. */
export type ExportRow =
  | { readonly table: string; readonly key: string; readonly value: string }
  | { readonly table: string; readonly key: string; readonly sealed: string };

export interface ExportEnd {
  /** Rows in the file. */
  readonly rows: number;
  /** SHA-256 of every byte before this line, hexadecimal. */
  readonly sha256: string;
}

/** What a sealed row is bound to. */
export const sealPlace = (table: string, key: string): string => `${table}\u0000${key}`;
