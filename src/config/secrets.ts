/**
 * Secrets among the settings: they have no flag, because command lines can be read by others. A secret comes from the
 * file that its `…-file` key names, or from a variable. It is read when it is used, not when the settings are: the
 * first credentials are needed once, on an empty state, and their files may be gone later.
 */
import { readFileSync, statSync } from 'node:fs';
import { ConfigError } from './error.ts';
import type { Kind } from './kinds.ts';

/** A secret that was configured. Printing it shows where it comes from, never what it is. */
export interface Secret<T> {
  /** The path of its file, or the name of its variable. */
  readonly source: string;
  /** Reads it. @throws ConfigError naming the source when it cannot be read or does not fit; never quotes it */
  readonly read: () => T;
}

/** A secret's file is a line; what is larger is some other file. */
const SECRET_FILE_BYTES_MAX = 4096;

/** The secret in the file at `path`, which `key` names. */
export function secretInFile<T>(kind: Kind<T>, key: string, path: string): Secret<T> {
  return { source: path, read: () => parseSecret(kind, `${key}: the file ${path}`, readSmallFile(key, path)) };
}

/** The secret that the variable `name` held at the start. */
export function secretInVariable<T>(kind: Kind<T>, name: string, content: string): Secret<T> {
  return { source: name, read: () => parseSecret(kind, name, content) };
}

function readSmallFile(key: string, path: string): string {
  try {
    const { size } = statSync(path);
    if (size > SECRET_FILE_BYTES_MAX) {
      throw new ConfigError(`${key}: the file ${path} has ${size} bytes: want at most ${SECRET_FILE_BYTES_MAX}`);
    }
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`${key}: cannot read the file ${path}: ${(error as Error).message}`, { cause: error });
  }
}

function parseSecret<T>(kind: Kind<T>, place: string, content: string): T {
  // Editors and `echo` end a file with a newline that is no part of the secret.
  const value = kind.parse(content.replace(/\r?\n$/, ''));
  if (value === undefined) throw new ConfigError(`${place} does not hold what is wanted: want ${kind.wanted}`);
  return value;
}

/** The key that encrypts private keys: 32 bytes in base64, with or without padding. */
export const dataKey: Kind<Buffer> = {
  wanted: '32 bytes in base64 (openssl rand -base64 32)',
  parse(given) {
    const bytes = Buffer.from(given, 'base64');
    const isExact = bytes.toString('base64').replaceAll('=', '') === given.trim().replaceAll('=', '');
    return bytes.length === 32 && isExact ? bytes : undefined;
  },
  format: () => 'hidden',
};

const secretText = (pattern: RegExp, wanted: string): Kind<string> => ({
  wanted,
  parse: (given) => (pattern.test(given) ? given : undefined),
  format: () => 'hidden',
});

/** The secret ID of an ACL token, kept as it is written: whoever hashes it takes either case for the same. */
export const aclToken: Kind<string> = secretText(
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  'a UUID (the secret ID of an ACL token)',
);

/** A token of team access. */
export const userToken: Kind<string> = secretText(
  /^[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9]{67}$/,
  '14 letters and digits, .atlasv1., and 67 letters and digits',
);

/** A password: one line. */
export const password: Kind<string> = secretText(/^[^\r\n]+$/, 'a password on one line');
