/** Which server a command talks to, and with which token. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { CommandError } from '../errors.ts';
import { CA_FILE_BYTES_MAX, SECRET_FILE_BYTES_MAX } from '../limits.ts';
import type { Shell } from '../shell.ts';

const ADDRESS_DEFAULT = 'http://127.0.0.1:8500';
const DATA_DIR_DEFAULT = './accord-data';

/** The options that say where a server is; `aclTokenFile` or `apiTokenFile` says with which token to ask it. */
export interface ConnectionOptions {
  readonly address?: string;
  readonly aclTokenFile?: string;
  readonly apiTokenFile?: string;
  readonly caFile?: string;
  readonly dataDir?: string;
}

/** One of the two kinds of token, and where it is found. */
interface TokenKind {
  readonly option: 'aclTokenFile' | 'apiTokenFile';
  readonly variable: string;
  /** What `credentials.json` has of it; anything but a text is none. */
  readonly inCredentials: (content: Credentials) => unknown;
}

/** `credentials.json`, as far as it is what it should be. */
interface Credentials {
  readonly address?: unknown;
  readonly peering?: { readonly secretId?: unknown };
  readonly teamAccess?: { readonly token?: unknown };
}

/** Tokens of `/v1`. */
const ACL_TOKEN: TokenKind = {
  option: 'aclTokenFile',
  variable: 'ACCORD_TOKEN',
  inCredentials: ({ peering }) => peering?.secretId,
};

/** Tokens of `/api/v2`. */
export const API_TOKEN: TokenKind = {
  option: 'apiTokenFile',
  variable: 'ACCORD_API_TOKEN',
  inCredentials: ({ teamAccess }) => teamAccess?.token,
};

/** A server and the caller's right to use it. */
export interface Connection {
  /** Without a slash at its end. */
  readonly address: string;
  /** The token's secret; `undefined` asks as nobody in particular. */
  readonly token: string | undefined;
  /** Where the token was found. */
  readonly tokenFrom: string;
  /** Certificates in PEM that vouch for the server, instead of the system's. */
  readonly ca: string | undefined;
}

/** Adds the options that every command has that asks a server for `/v1`. */
export const withConnection = (command: Command): Command =>
  withServer(command, [
    '--acl-token-file <file>',
    'file with the secret ID of an ACL token (or ACCORD_TOKEN holds it)',
  ]);

/** Adds the options of commands that ask for `/api/v2`. */
export const withApiConnection = (command: Command): Command =>
  withServer(command, ['--api-token-file <file>', 'file with a token of team access (or ACCORD_API_TOKEN holds it)']);

function withServer(command: Command, tokenFile: readonly [flag: string, meaning: string]): Command {
  return command
    .optionsGroup('Connection:')
    .option('--address <url>', `server to ask (ACCORD_ADDRESS; default ${ADDRESS_DEFAULT})`)
    .option(...tokenFile)
    .option('--ca-file <file>', "certificates in PEM that vouch for the server (ACCORD_CA_FILE; default the system's)")
    .option('--data-dir <dir>', `where credentials.json is read when no token is given (default ${DATA_DIR_DEFAULT})`);
}

/**
 * Finds address, token and certificates. The first credentials are used when no token is given and the server is the
 * one that they name; it is the one that is asked when no address is given either.
 * @throws CommandError `usage`
 */
export function resolveConnection(
  { environment }: Pick<Shell, 'environment'>,
  options: ConnectionOptions,
  kind = ACL_TOKEN,
): Connection {
  const tokenFile = options[kind.option];
  const token = tokenFile === undefined ? given(environment[kind.variable]) : readLine(tokenFile);
  const address = options.address ?? given(environment['ACCORD_ADDRESS']);
  const caFile = options.caFile ?? given(environment['ACCORD_CA_FILE']);
  const ca = caFile === undefined ? undefined : readText(caFile, 'the certificates');
  if (token !== undefined) {
    const tokenFrom = tokenFile ?? kind.variable;
    return { address: parseAddress(address ?? ADDRESS_DEFAULT), token: headerSafe(token), tokenFrom, ca };
  }
  const dataDir = options.dataDir ?? given(environment['ACCORD_DATA_DIR']) ?? DATA_DIR_DEFAULT;
  const tokenFrom = join(dataDir, 'credentials.json');
  const first = readCredentials(tokenFrom, kind);
  const target = parseAddress(address ?? first?.address ?? ADDRESS_DEFAULT);
  const isOurs = first !== undefined && parseAddress(first.address) === target;
  return { address: target, token: isOurs ? headerSafe(first.token) : undefined, tokenFrom, ca };
}

/** Reads the one line of a file that holds a token or passphrase. @throws CommandError `usage` */
export function readLine(path: string): string {
  const line = readText(path, 'the secret', SECRET_FILE_BYTES_MAX).replace(/\r?\n$/, '');
  if (line === '' || /[\r\n]/.test(line)) throw new CommandError('usage', `the file ${path} must hold one line`);
  return line;
}

/** An empty variable is none: that is how container files unset one. */
const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

function readText(path: string, what: string, bytesMax = CA_FILE_BYTES_MAX): string {
  try {
    const { size } = statSync(path);
    if (size > bytesMax) throw new Error(`it has ${size} bytes, want at most ${bytesMax}`);
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new CommandError('usage', `cannot read ${what} in ${path}: ${(cause as Error).message}`, { cause });
  }
}

function parseAddress(text: string): string {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url === null || !isHttp || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new CommandError('usage', `the address ${JSON.stringify(text)} is no URL such as ${ADDRESS_DEFAULT}`);
  }
  return url.href.replace(/\/+$/, '');
}

/** What would break a header is no token; it is not quoted, since it may be most of one. */
function headerSafe(token: string): string {
  if (!/^[!-~]+$/.test(token)) throw new CommandError('usage', 'the token must be printable characters without spaces');
  return token;
}

/** The part of `credentials.json` that is used; `undefined` when the file is not there or not ours to read. */
function readCredentials(
  path: string,
  { inCredentials }: TokenKind,
): { readonly address: string; readonly token: string } | undefined {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
  try {
    const credentials: Credentials = JSON.parse(content);
    const { address } = credentials;
    const token = inCredentials(credentials);
    if (typeof address === 'string' && typeof token === 'string') return { address, token };
  } catch {
    // Told below, as any other damage.
  }
  throw new CommandError('usage', `${path} holds no first credentials: give --address and a token, or remove it`);
}
