/** Generates IDs and secrets, recognizes UUIDs, and hashes secrets for storage. */
import { hash, randomInt, randomUUIDv7 } from 'node:crypto';

/**
 * Returns the SHA-256 hash of a secret, the only form that is stored [ACL-8]. Secrets are random, so a slower hash
 * would add nothing. A UUID is lowercased first, because secret IDs match without regard to case [ACL-7].
 */
export function hashSecret(secret: string): string {
  return hash('sha256', isUuid(secret) ? secret.toLowerCase() : secret, 'base64url');
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Returns a new token of a user, team or organization: 14 characters, `.atlasv1.`, 67 characters [AUTHZ-72]. */
export function newApiToken(random: (max: number) => number = randomInt): string {
  return `${randomCharacters(14, random)}.atlasv1.${randomCharacters(67, random)}`;
}

/** Returns a new ID of a resource of team access: a prefix, a hyphen and 16 of `[A-Za-z0-9]` [DOC-2]. */
export function newId(prefix: string, random: (max: number) => number = randomInt): string {
  return `${prefix}-${randomCharacters(16, random)}`;
}

function randomCharacters(count: number, random: (max: number) => number): string {
  let text = '';
  for (let i = 0; i < count; i++) text += ALPHABET[random(ALPHABET.length)];
  return text;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Whether `text` is a UUID of any version, in upper or lower case. */
export const isUuid = (text: string): boolean => UUID.test(text);

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
