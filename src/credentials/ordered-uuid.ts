import { randomUUIDv7 } from 'node:crypto';

const VERSION_AT = 14;

/**
 * Returns a UUID in the form of version 4 whose first 48 bits are the time in milliseconds and whose other 74 bits are
 * random [ACL-13]. Rows created together have adjacent keys, so a commit of many rows copies few pages; random keys
 * would copy one page each. Only for public IDs, because the ID reveals when it was created. See docs/decisions/0007.
 */
export function orderedUuid(): string {
  const uuid = randomUUIDv7();
  return `${uuid.slice(0, VERSION_AT)}4${uuid.slice(VERSION_AT + 1)}`;
}
