/**
 * Secret settings. They have no flag, because other users can read command lines. A secret comes from the file of its
 * `…-file` key or from an environment variable. It is read on use, because the files of the first credentials may be
 * deleted after the first start.
 */
import { readFileSync, statSync } from 'node:fs';
import { ConfigError } from './error.ts';
import type { Kind } from './kinds.ts';

/** A configured secret. Printing it shows its source and never its value. */
export interface Secret<T> {
  /** The path of the file or the name of the variable. */
  readonly source: string;
  /** Reads the secret. @throws ConfigError with the source, never the value, when it is unreadable or invalid */
  readonly read: () => T;
}

/** Largest file of a secret. A larger one is the wrong file. */
const SECRET_FILE_BYTES_MAX = 4096;

/** Returns the secret in the file at `path`, which the setting `key` names. */
export function secretInFile<T>(kind: Kind<T>, key: string, path: string): Secret<T> {
  return { source: path, read: () => parseSecret(kind, `${key}: the file ${path}`, readSmallFile(key, path)) };
}

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
  // Editors and `echo` append a newline.
  const value = kind.parse(content.replace(/\r?\n$/, ''));
  if (value === undefined) throw new ConfigError(`${place} has an invalid value: want ${kind.wanted}`);
  return value;
}

/** The data key: 32 bytes in base64, with or without padding. */
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

/** The secret ID of an ACL token, in any case. Hashing normalizes the case. */
export const aclToken: Kind<string> = secretText(
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  'a UUID (the secret ID of an ACL token)',
);

export const userToken: Kind<string> = secretText(
  /^[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9]{67}$/,
  '14 letters and digits, .atlasv1., and 67 letters and digits',
);

export const password: Kind<string> = secretText(/^[^\r\n]+$/, 'a password on one line');
