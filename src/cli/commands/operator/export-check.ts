/**
 * Verifies an export while it streams. An export consists of JSON lines: a header, the rows, and a last line with the
 * number of rows and the SHA-256 of all preceding bytes.
 */
import { createHash } from 'node:crypto';
import { CommandError } from '../../errors.ts';
import { EXPORT_LINE_BYTES_MAX } from '../../limits.ts';

/** The header and footer data of an export. */
export interface ExportSummary {
  readonly index: number;
  readonly rows: number;
  /** Number of rows omitted because no key could encrypt them, by table. */
  readonly leftOut: Readonly<Record<string, number>>;
  /** Damaged rows that the export lacks, by table. */
  readonly skipped: Readonly<Record<string, SkippedRows>>;
}

export interface SkippedRows {
  readonly count: number;
  /** The keys of the first of them. */
  readonly keys: readonly string[];
  readonly unreadable?: string;
}

export interface ExportCheck {
  add(chunk: Buffer): void;
  /** Verifies the checksum. @throws CommandError `failed` if the export is truncated or damaged */
  finish(): ExportSummary;
}

export function createExportCheck(): ExportCheck {
  const hash = createHash('sha256');
  let header: Buffer = Buffer.alloc(0);
  /** The bytes after the last newline that is followed by more bytes. They may be the last line. */
  let rest: Buffer = Buffer.alloc(0);
  return {
    add(chunk) {
      if (!header.includes('\n') && header.length < EXPORT_LINE_BYTES_MAX) header = Buffer.concat([header, chunk]);
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let lineStart = rest.subarray(0, -1).lastIndexOf('\n') + 1;
      // The last line is short, so the start of a long line need not be kept.
      if (rest.length - lineStart > EXPORT_LINE_BYTES_MAX) lineStart = rest.length;
      hash.update(rest.subarray(0, lineStart));
      rest = rest.subarray(lineStart);
    },
    finish() {
      const { rows, sha256, skipped = {} } = parseLine<ExportSummary & { sha256: string }>(rest);
      if (sha256 === undefined || rows === undefined) {
        throw new CommandError('failed', 'the export is truncated: it does not end with a checksum');
      }
      if (sha256 !== hash.digest('hex'))
        throw new CommandError('failed', 'the export is damaged: its checksum differs');
      const { index, leftOut } = parseLine<ExportSummary>(header.subarray(0, header.indexOf('\n')));
      return { index: index ?? 0, rows, leftOut: leftOut ?? {}, skipped };
    },
  };
}

/** Parses the object on a line. Returns an empty object for anything else. */
function parseLine<T>(line: Buffer): Partial<T> {
  try {
    const value: unknown = JSON.parse(line.toString());
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
