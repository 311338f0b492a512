/** Generates the secrets and IDs of credentials, and hashes secrets for storage. */
import { hash, randomInt } from 'node:crypto';
import { isUuid } from './uuid.ts';

/**
 * Returns the SHA-256 hash of a secret, the only form that is stored [ACL-8]. Secrets are random, so a slower hash would
 * add nothing. A UUID is lowercased first, because secret IDs match without regard to case [ACL-7].
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
