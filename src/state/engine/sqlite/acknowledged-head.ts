/**
 * The newest durable head, kept a second time in a small file beside the database [SQLITE-50].
 *
 * The engine writes the file after each sync of a commit, and does not sync the file itself. A head in it therefore
 * proves that its commit was durable, while after a power failure the file may be older. A database that ends before
 * this head has lost acknowledged commits, for example with a truncated log.
 */
import { closeSync, constants, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Head } from '../engine.ts';
import { headChecksum } from './checksum.ts';

/** The file has a fixed size, so that writing it needs no space on a full disk. */
const FILE_BYTES = 160;

export interface AcknowledgedHead extends Disposable {
  /** Records a durable head. A file that cannot be written proves less, and fails no commit. */
  record(head: Head): void;
}

/** Reads the file. Returns `undefined` if it is missing or not whole. */
export function readAcknowledgedHead(file: string): Head | undefined {
  try {
    const { sum, ...head } = JSON.parse(readFileSync(file, 'utf8')) as Head & { readonly sum: number };
    return headChecksum(head, '') === sum ? head : undefined;
  } catch {
    return undefined;
  }
}

export function openAcknowledgedHead(file: string): AcknowledgedHead {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
  } catch {
    descriptor = undefined;
  }
  return {
    record(head) {
      if (descriptor === undefined) return;
      const { cluster, epoch, index } = head;
      const text = JSON.stringify({ cluster, epoch, index, sum: headChecksum(head, '') }).padEnd(FILE_BYTES - 1);
      try {
        writeSync(descriptor, `${text}\n`, 0);
      } catch {
        // The disk is full, or the file system copies on write. The database itself is durable.
      }
    },
    [Symbol.dispose]() {
      if (descriptor === undefined) return;
      try {
        fsyncSync(descriptor);
      } catch {
        // The file then proves less after a power failure.
      }
      closeSync(descriptor);
      descriptor = undefined;
    },
  };
}
