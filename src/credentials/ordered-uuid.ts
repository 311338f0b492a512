/** Names for rows that are made one after another. */
import { randomUUIDv7 } from 'node:crypto';

const VERSION_AT = 14;

/**
 * A UUID in the form of version 4 whose first 48 bits are the time in milliseconds; the other 74 are random. Rows with
 * such keys stand side by side, in trees and in files: a commit of many copies few pages, where random keys cost one
 * each. For public names only: who knows one knows when it was made. See docs/decisions/0007.
 */
export function orderedUuid(): string {
  const uuid = randomUUIDv7();
  return `${uuid.slice(0, VERSION_AT)}4${uuid.slice(VERSION_AT + 1)}`;
}
