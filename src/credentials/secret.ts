/** Secrets of credentials: made once, shown once, kept only as hashes. */
import { hash, randomInt } from 'node:crypto';
import { isUuid } from './uuid.ts';

/**
 * What is kept of a secret: its SHA-256 (they are random, so nothing slower is needed). A secret ID, as a UUID, is the same
 * in capitals, which is how some programs make them.
 */
export function hashSecret(secret: string): string {
  return hash('sha256', isUuid(secret) ? secret.toLowerCase() : secret, 'base64url');
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A user, team or organization token: 14 characters, `.atlasv1.`, 67 characters (team-access-decisions). */
export function newApiToken(random: (max: number) => number = randomInt): string {
  return `${letters(14, random)}.atlasv1.${letters(67, random)}`;
}

/** An id of team access: a prefix and 16 of `[A-Za-z0-9]`. */
export function newId(prefix: string, random: (max: number) => number = randomInt): string {
  return `${prefix}-${letters(16, random)}`;
}

function letters(count: number, random: (max: number) => number): string {
  let text = '';
  for (let i = 0; i < count; i++) text += ALPHABET[random(ALPHABET.length)];
  return text;
}
