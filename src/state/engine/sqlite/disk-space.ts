/**
 * Keeps the database usable on a full disk [SQLITE-52].
 *
 * The log is bounded by the size of the disk. The last part of the disk is kept for commits that remove rows, because
 * they too need space in the log before they free any. Below twice that part, every commit is moved from the log to the
 * file at once, so that the log can be written from its start again.
 */
import { statfsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { DISK_RESERVE_BYTES_MAX, DISK_RESERVE_SHARE, LOG_PAGES_MAX } from '../../limits.ts';

const PAGE_BYTES = 4_096;

/** The error for a commit that adds rows when only the reserve of the disk is left. */
export class DiskReserveError extends Error {
  override readonly name = 'DiskReserveError';
}

export interface DiskSpace {
  /** Bounds the log. */
  configure(): void;
  /** @throws DiskReserveError if only the reserve is left, and the commit removes nothing */
  check(removesRows: boolean): void;
  /** Returns the bytes of free pages in the file. Deletions leave them, and the file does not shrink. */
  freeBytesInFile(): number;
  /** Moves the commits of the log to the file if the disk is nearly full. */
  afterCommit(): void;
  /** Moves the commits of the log to the file. @returns whether the disk had room for them */
  checkpoint(mode: 'PASSIVE' | 'TRUNCATE'): boolean;
}

export function diskSpace(db: DatabaseSync, directory: string, isFull: (error: unknown) => boolean): DiskSpace {
  const { bsize, blocks } = statfsSync(directory);
  const reserveBytes = Math.min(DISK_RESERVE_BYTES_MAX, Math.floor((bsize * blocks) / DISK_RESERVE_SHARE));
  let freeBytes = Number.POSITIVE_INFINITY;
  const checkpoint: DiskSpace['checkpoint'] = (mode) => {
    try {
      db.exec(`PRAGMA wal_checkpoint(${mode})`);
      return true;
    } catch (error) {
      if (!isFull(error)) throw error;
      return false;
    }
  };
  const freeBytesInFile = (): number => {
    const { freelist_count: pages } = db.prepare('PRAGMA freelist_count').get() as { freelist_count: number };
    return pages * PAGE_BYTES;
  };
  return {
    freeBytesInFile,
    configure() {
      const pages = Math.max(1, Math.min(LOG_PAGES_MAX, Math.floor(reserveBytes / 2 / PAGE_BYTES)));
      db.exec(`PRAGMA wal_autocheckpoint=${pages}; PRAGMA journal_size_limit=${pages * PAGE_BYTES}`);
    },
    check(removesRows) {
      const { bsize: blockBytes, bavail } = statfsSync(directory);
      freeBytes = blockBytes * bavail;
      if (removesRows || freeBytes >= reserveBytes) return;
      if (freeBytes + freeBytesInFile() >= reserveBytes) return;
      const left = Math.ceil(reserveBytes / 1024);
      throw new DiskReserveError(`the last ${left} KiB are kept for writes that remove something`);
    },
    afterCommit() {
      if (freeBytes < 2 * reserveBytes) checkpoint('PASSIVE');
    },
    checkpoint,
  };
}
