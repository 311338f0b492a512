/** Resolves the address of the server, the token, and the CA certificates of a command. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { CommandError } from '../errors.ts';
import { CA_FILE_BYTES_MAX, SECRET_FILE_BYTES_MAX } from '../limits.ts';
import type { Shell } from '../shell.ts';

const ADDRESS_DEFAULT = 'http://127.0.0.1:8500';
const DATA_DIR_DEFAULT = './accord-data';

/** The connection options of a command. A command has either `aclTokenFile` or `apiTokenFile`. */
export interface ConnectionOptions {
  readonly address?: string;
  readonly aclTokenFile?: string;
  readonly apiTokenFile?: string;
  readonly caFile?: string;
  readonly dataDir?: string;
}

/** One of the two kinds of tokens, with the places in which it is looked up. */
interface TokenKind {
  readonly option: 'aclTokenFile' | 'apiTokenFile';
  readonly variable: string;
  /** Returns the token in `credentials.json`. Only a string counts as a token. */
  readonly fromCredentials: (content: Credentials) => unknown;
}

/** The unvalidated content of `credentials.json`. */
interface Credentials {
  readonly address?: unknown;
  readonly peering?: { readonly secretId?: unknown };
  readonly teamAccess?: { readonly token?: unknown };
}

/** The ACL token for `/v1`. */
const ACL_TOKEN: TokenKind = {
  option: 'aclTokenFile',
  variable: 'ACCORD_TOKEN',
  fromCredentials: ({ peering }) => peering?.secretId,
};

/** The API token for `/api/v2`. */
export const API_TOKEN: TokenKind = {
  option: 'apiTokenFile',
  variable: 'ACCORD_API_TOKEN',
  fromCredentials: ({ teamAccess }) => teamAccess?.token,
};

export interface Connection {
  /** Without a trailing slash. */
  readonly address: string;
  /** The token's secret. Without it, requests are anonymous. */
  readonly token: string | undefined;
  /** The variable or file that contains the token, for error messages. */
  readonly tokenSource: string;
  /** CA certificates in PEM that replace the system's. */
  readonly ca: string | undefined;
}

/** Adds the options of commands that call `/v1`. */
export const withConnection = (command: Command): Command =>
  withServer(command, [
    '--acl-token-file <file>',
    'file that contains the secret ID of an ACL token (default: ACCORD_TOKEN)',
  ]);

/** Adds the options of commands that call `/api/v2`. */
export const withApiConnection = (command: Command): Command =>
  withServer(command, ['--api-token-file <file>', 'file that contains an API token (default: ACCORD_API_TOKEN)']);

function withServer(command: Command, tokenFile: readonly [flag: string, meaning: string]): Command {
  return command
    .optionsGroup('Connection:')
    .option('--address <url>', `address of the server (default: ACCORD_ADDRESS, or ${ADDRESS_DEFAULT})`)
    .option(...tokenFile)
    .option('--ca-file <file>', "CA certificates in PEM (default: ACCORD_CA_FILE, or the system's certificates)")
    .option(
      '--data-dir <dir>',
      `directory of credentials.json, which is read if no token is given (default: ${DATA_DIR_DEFAULT})`,
    );
}

/**
 * Resolves the address, token, and certificates. Without a token, the first credentials provide it if they belong to
 * the addressed server. Without an address and a token, they provide both. If `--data-dir` names credentials that cannot
 * be used, the command fails instead of sending an anonymous request.
 * @throws CommandError `usage`
 */
export function resolveConnection(
  { environment }: Pick<Shell, 'environment'>,
  options: ConnectionOptions,
  kind = ACL_TOKEN,
): Connection {
  const tokenFile = options[kind.option];
  const token = tokenFile === undefined ? nonEmpty(environment[kind.variable]) : readSecretFile(tokenFile);
  const address = options.address ?? nonEmpty(environment['ACCORD_ADDRESS']);
  const caFile = options.caFile ?? nonEmpty(environment['ACCORD_CA_FILE']);
  const ca = caFile === undefined ? undefined : readText(caFile, 'the certificates');
  if (token !== undefined) {
    const tokenSource = tokenFile ?? kind.variable;
    return { address: parseAddress(address ?? ADDRESS_DEFAULT), token: requireHeaderSafe(token), tokenSource, ca };
  }
  const dataDir = options.dataDir ?? nonEmpty(environment['ACCORD_DATA_DIR']) ?? DATA_DIR_DEFAULT;
  const tokenSource = join(dataDir, 'credentials.json');
  const first = readCredentials(tokenSource, kind);
  const target = parseAddress(address ?? first?.address ?? ADDRESS_DEFAULT);
  const isForTarget = first !== undefined && parseAddress(first.address) === target;
  if (!isForTarget && options.dataDir !== undefined) {
    const reason = first === undefined ? 'cannot be read' : `is for ${first.address}, not for ${target}`;
    throw new CommandError(
      'usage',
      `${tokenSource}, which --data-dir names, ${reason}: give a file with a token instead`,
    );
  }
  return { address: target, token: isForTarget ? requireHeaderSafe(first.token) : undefined, tokenSource, ca };
}

/** Reads a file that contains one line: a token or a passphrase. @throws CommandError `usage` */
export function readSecretFile(path: string): string {
  const line = readText(path, 'the secret', SECRET_FILE_BYTES_MAX).replace(/\r?\n$/, '');
  if (line === '' || /[\r\n]/.test(line))
    throw new CommandError('usage', `the file ${path} must contain exactly one line`);
  return line;
}

/** Treats an empty variable as missing, because container files unset variables that way. */
const nonEmpty = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

function readText(path: string, what: string, bytesMax = CA_FILE_BYTES_MAX): string {
  try {
    const { size } = statSync(path);
    if (size > bytesMax) throw new Error(`it has ${size} bytes; the limit is ${bytesMax}`);
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new CommandError('usage', `cannot read ${what} from ${path}: ${(cause as Error).message}`, { cause });
  }
}

function parseAddress(text: string): string {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url === null || !isHttp || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new CommandError('usage', `invalid address ${JSON.stringify(text)}: want a URL such as ${ADDRESS_DEFAULT}`);
  }
  return url.href.replace(/\/+$/, '');
}

/** Rejects a token that is not valid in a header. The message does not quote it, because it may be almost correct. */
function requireHeaderSafe(token: string): string {
  if (!/^[!-~]+$/.test(token))
    throw new CommandError('usage', 'the token must consist of printable characters without spaces');
  return token;
}

/** Reads address and token from `credentials.json`; `undefined` if the file is missing or not readable. */
function readCredentials(
  path: string,
  { fromCredentials }: TokenKind,
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
    const token = fromCredentials(credentials);
    if (typeof address === 'string' && typeof token === 'string') return { address, token };
  } catch {
    // Invalid JSON is reported below, like missing fields.
  }
  throw new CommandError(
    'usage',
    `${path} contains no first credentials: give --address and a token, or remove the file`,
  );
}
