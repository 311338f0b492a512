/**
 * Examines the write-ahead log before SQLite opens it [SQLITE-49].
 *
 * SQLite reads the log up to the first frame whose checksum or salt is wrong, and takes that frame for the end of an
 * unfinished commit. A damaged frame in the middle therefore hides all commits behind it. SQLite writes a commit only
 * after it has synced the one before. So a whole frame behind the end of a commit proves that the commit was durable,
 * and a bad frame in that commit is damage. A bad frame in the last commit may also be a write that a power failure
 * interrupted, which is no damage; `acknowledged-head.ts` finds the loss of such a commit if it was acknowledged.
 *
 * The format is specified in https://www.sqlite.org/fileformat2.html#the_write_ahead_log.
 */
import { closeSync, openSync, readSync } from 'node:fs';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** Bit 0 of the magic number selects the byte order of the checksums. */
const MAGIC = 0x377f0682;
const PAGE_BYTES_MIN = 512;
const PAGE_BYTES_MAX = 65_536;
/** The default of SQLite, for a log whose header is damaged. */
const PAGE_BYTES_DEFAULT = 4_096;

/** Describes the damage, or returns `undefined` for a log that is missing, whole, or possibly interrupted at its end. */
export function findWalDamage(file: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return examine(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The running checksum of the log: two sums of 32 bits. */
type Sums = readonly [number, number];

function examine(descriptor: number): string | undefined {
  const header = Buffer.alloc(HEADER_BYTES);
  if (readSync(descriptor, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return undefined;
  const { pageBytes, isBigEndian, isWhole } = readHeader(header);
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + pageBytes);
  let salts = header.subarray(16, 24);
  let sums = readSums(header, 24);
  let firstBad = isWhole ? undefined : 0;
  /** Whether a commit ends at the first bad frame or behind it. */
  let hasEnded = false;
  for (let number = 1; ; number++) {
    const offset = HEADER_BYTES + (number - 1) * frame.length;
    if (readSync(descriptor, frame, 0, frame.length, offset) < frame.length) return undefined;
    // Without a header, the first frame shows the salts.
    if (number === 1 && !isWhole) salts = Buffer.from(frame.subarray(8, 16));
    const isCurrent = frame.subarray(8, 16).equals(salts);
    const stored = readSums(frame, 16);
    const isValid = isCurrent && isSame(stored, frameChecksum(frame, sums, isBigEndian));
    if (!isValid) firstBad ??= number;
    if (firstBad !== undefined && isValid && hasEnded) {
      const bad =
        firstBad === 0 ? 'its header' : `frame ${firstBad}, at byte ${HEADER_BYTES + (firstBad - 1) * frame.length},`;
      return `${bad} is damaged, and commits follow it`;
    }
    if (firstBad !== undefined && isCurrent && frame.readUInt32BE(4) !== 0) hasEnded = true;
    sums = stored;
  }
}

function readHeader(header: Buffer): { pageBytes: number; isBigEndian: boolean; isWhole: boolean } {
  const magic = header.readUInt32BE(0);
  const isBigEndian = (magic & 1) === 1;
  const pageBytes = header.readUInt32BE(8);
  const isPageSize = pageBytes >= PAGE_BYTES_MIN && pageBytes <= PAGE_BYTES_MAX && (pageBytes & (pageBytes - 1)) === 0;
  const isMatching = isSame(readSums(header, 24), checksum(header.subarray(0, 24), [0, 0], isBigEndian));
  const isWhole = (magic & ~1) === MAGIC && isPageSize && isMatching;
  return isWhole ? { pageBytes, isBigEndian, isWhole } : { pageBytes: PAGE_BYTES_DEFAULT, isBigEndian: false, isWhole };
}

const readSums = (buffer: Buffer, offset: number): Sums => [
  buffer.readUInt32BE(offset),
  buffer.readUInt32BE(offset + 4),
];

const isSame = (a: Sums, b: Sums): boolean => a[0] === b[0] && a[1] === b[1];

/** Returns the checksum of a frame: of the first 8 bytes of its header, and of its page. */
const frameChecksum = (frame: Buffer, previous: Sums, isBigEndian: boolean): Sums =>
  checksum(frame.subarray(FRAME_HEADER_BYTES), checksum(frame.subarray(0, 8), previous, isBigEndian), isBigEndian);

/** Continues the checksum over `bytes`, whose length is a multiple of 8. */
function checksum(bytes: Buffer, [first, second]: Sums, isBigEndian: boolean): Sums {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let a = first;
  let b = second;
  for (let offset = 0; offset < bytes.length; offset += 8) {
    a = (a + b + view.getUint32(offset, !isBigEndian)) >>> 0;
    b = (b + a + view.getUint32(offset + 4, !isBigEndian)) >>> 0;
  }
  return [a, b];
}
