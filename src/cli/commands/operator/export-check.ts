/**
 * Checks an export while it passes: JSON lines, of which the first is the header and the last says how many rows there
 * are and the SHA-256 of every byte before it.
 */
import { createHash } from 'node:crypto';
import { CommandError } from '../../errors.ts';
import { EXPORT_LINE_BYTES_MAX } from '../../limits.ts';

/** What an export says of itself. */
export interface ExportSummary {
  readonly index: number;
  readonly rows: number;
  /** Rows that nothing could encrypt and that are not in it, by table. */
  readonly leftOut: Readonly<Record<string, number>>;
}

export interface ExportCheck {
  /** Takes the next bytes. */
  add(chunk: Buffer): void;
  /** @throws CommandError `refused` when the export is cut short or damaged */
  finish(): ExportSummary;
}

/** A check of one export. */
export function createExportCheck(): ExportCheck {
  const hash = createHash('sha256');
  let header: Buffer = Buffer.alloc(0);
  /** What may be the last line: everything after the newest newline that something follows. */
  let rest: Buffer = Buffer.alloc(0);
  return {
    add(chunk) {
      if (!header.includes('\n') && header.length < EXPORT_LINE_BYTES_MAX) header = Buffer.concat([header, chunk]);
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let lineStart = rest.subarray(0, -1).lastIndexOf('\n') + 1;
      // A long line is not the last one: its beginning need not be kept.
      if (rest.length - lineStart > EXPORT_LINE_BYTES_MAX) lineStart = rest.length;
      hash.update(rest.subarray(0, lineStart));
      rest = rest.subarray(lineStart);
    },
    finish() {
      const { rows, sha256 } = parseLine<{ rows: number; sha256: string }>(rest);
      if (sha256 === undefined || rows === undefined) {
        throw new CommandError('refused', 'the export is cut short: it has no checksum at its end');
      }
      if (sha256 !== hash.digest('hex'))
        throw new CommandError('refused', 'the export is damaged: its checksum differs');
      const { index, leftOut } = parseLine<ExportSummary>(header.subarray(0, header.indexOf('\n')));
      return { index: index ?? 0, rows, leftOut: leftOut ?? {} };
    },
  };
}

/** The object on a line; without members when it holds none. */
function parseLine<T>(line: Buffer): Partial<T> {
  try {
    const value: unknown = JSON.parse(line.toString());
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
