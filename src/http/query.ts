/**
 * The query string: names and values, decoded; of a name given twice the first counts, unless it decides what the request
 * is about; unknown names are ignored.
 */
import { ServiceError } from './errors.ts';
import { QUOTED_LENGTH_MAX } from './limits.ts';

export type Query = ReadonlyMap<string, string>;

const EMPTY: Query = new Map();

/** Names under which people have put secrets into query strings. Those end up in logs and histories of all kinds. */
const SECRETS = new Set([
  'token',
  'x-service-token',
  'x-consul-token',
  'access_token',
  'api_token',
  'authorization',
  'secret',
  'secretid',
]);

/** Parameters that decide what a request is about: two values of them disagree. */
const DECIDING = new Set(['partition']);

/** Parameters that are logged. */
const LOGGED = new Set(['index', 'wait', 'consistent', 'stale', 'cached', 'pretty', 'limit', 'partition']);

/** Parses what stands after `?` in a URL. @throws ServiceError `bad-request` on bad encoding or a secret */
export function parseQuery(url: string): Query {
  const start = url.indexOf('?');
  if (start === -1 || start === url.length - 1) return EMPTY;
  const query = new Map<string, string>();
  for (const part of url.slice(start + 1).split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decode(equals === -1 ? part : part.slice(0, equals));
    if (SECRETS.has(name.toLowerCase())) {
      throw new ServiceError(
        'bad-request',
        `Invalid query parameter: ${JSON.stringify(name)} - secrets are not accepted in the query string, use a header`,
      );
    }
    const value = equals === -1 ? '' : decode(part.slice(equals + 1));
    const before = query.get(name);
    if (before === undefined) query.set(name, value);
    else if (DECIDING.has(name) && before.toLowerCase() !== value.toLowerCase())
      throw disagreement(name, before, value);
  }
  return query;
}

const disagreement = (name: string, first: string, second: string): ServiceError =>
  new ServiceError(
    'bad-request',
    `Invalid query parameter: ${JSON.stringify(name)} - it is given twice, as ${quoted(first)} and ${quoted(second)}: want one`,
  );

const quoted = (value: string): string => JSON.stringify(value.slice(0, QUOTED_LENGTH_MAX));

/** What of the query may be logged: only parameters that name no person and hold no secret. */
export function loggedQuery(query: Query): string | undefined {
  const shown = [...query].filter(([name]) => LOGGED.has(name));
  return shown.length === 0 ? undefined : shown.map(([name, value]) => `${name}=${value}`).join('&');
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
