/** Parses query strings. Unknown names are ignored. If a name is repeated, the first value counts. */
import { ServiceError } from './errors.ts';
import { QUOTED_LENGTH_MAX } from './limits.ts';

export type Query = ReadonlyMap<string, string>;

const EMPTY: Query = new Map();

/** Names that clients use for secrets. They are rejected, because query strings end up in logs and histories. */
const SECRET_NAMES = new Set([
  'token',
  'x-service-token',
  'x-consul-token',
  'access_token',
  'api_token',
  'authorization',
  'secret',
  'secretid',
]);

/** Parameters that select the data of a request. Two different values are an error. */
const SINGLE_VALUED = new Set(['partition']);

/** Parameters that may be logged, because they identify no person and contain no secret. [SRV-75] */
const LOGGED_NAMES = new Set(['index', 'wait', 'consistent', 'stale', 'cached', 'pretty', 'limit', 'partition']);

/** Parses the query string of a URL. @throws ServiceError `bad-request` for malformed encoding or a secret */
export function parseQuery(url: string): Query {
  const start = url.indexOf('?');
  if (start === -1 || start === url.length - 1) return EMPTY;
  const query = new Map<string, string>();
  for (const part of url.slice(start + 1).split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decode(equals === -1 ? part : part.slice(0, equals));
    if (SECRET_NAMES.has(name.toLowerCase())) {
      throw new ServiceError(
        'bad-request',
        `Invalid query parameter: ${JSON.stringify(name)} - secrets are not accepted in the query string, use a header`,
      );
    }
    const value = equals === -1 ? '' : decode(part.slice(equals + 1));
    const first = query.get(name);
    if (first === undefined) query.set(name, value);
    else if (SINGLE_VALUED.has(name) && first.toLowerCase() !== value.toLowerCase())
      throw conflictingValues(name, first, value);
  }
  return query;
}

const conflictingValues = (name: string, first: string, second: string): ServiceError =>
  new ServiceError(
    'bad-request',
    `Invalid query parameter: ${JSON.stringify(name)} - it is given twice, as ${quoted(first)} and ${quoted(second)}: want one`,
  );

const quoted = (value: string): string => JSON.stringify(value.slice(0, QUOTED_LENGTH_MAX));

/** Returns the part of a query that may be logged, or `undefined` if it is empty. */
export function loggedQuery(query: Query): string | undefined {
  const logged = [...query].filter(([name]) => LOGGED_NAMES.has(name));
  return logged.length === 0 ? undefined : logged.map(([name, value]) => `${name}=${value}`).join('&');
}

function decode(text: string): string {
  const decoded = percentDecoded(text.replaceAll('+', ' '));
  if (decoded === undefined) throw new ServiceError('bad-request', 'Invalid query string: malformed percent-encoding');
  if (decoded.includes('\0'))
    throw new ServiceError('bad-request', 'Invalid query string: it contains a NUL character');
  return decoded;
}

function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
