/**
 * Origin checks for browsers: only pages of the server's own origin and of `http.allowed-origins` may send requests.
 * Otherwise any page that a user opens could call a server on loopback. [SRV-60]
 *
 * With DNS rebinding, an attacker points a name at 127.0.0.1, so that the attacker's page and the server have the same
 * origin, and the browser sends no `Origin` with a `GET`. Only `Host` reveals this, so a server on loopback checks
 * `Host`. [SRV-61]
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { ServiceError } from '../errors.ts';

/** The response headers that pages of allowed origins may read, in addition to those that CORS always exposes. */
const EXPOSED_HEADERS =
  'X-Request-Id, Retry-After, X-Service-Index, X-Service-KnownLeader, X-Service-LastContact, X-Service-Results-Filtered-By-ACLs';

/** The request headers of Accord's clients. */
const REQUEST_HEADERS = 'Authorization, Content-Type, If-Match, X-Request-Id, X-Service-Partition, X-Service-Token';

/** The time for which a browser may cache a preflight response, in seconds. */
const PREFLIGHT_SECONDS = '600';

/**
 * When the `Host` of a request must be `localhost`, an IP address, or the host of an allowed origin (for a proxy).
 * - `with-origin`: if the request has an `Origin`. Suffices on loopback if every request needs a token.
 * - `always`: needed on loopback if some requests need no token.
 * - `never`: for listeners on other addresses.
 */
export type LocalNames = 'with-origin' | 'always' | 'never';

export interface OriginRules {
  readonly localNames: LocalNames;
  /** The allowed origins, in lower case. */
  readonly allowed: ReadonlySet<string>;
  /** The hosts of the allowed origins, with ports, in lower case. */
  readonly allowedHosts: ReadonlySet<string>;
}

export function originRules(allowedOrigins: readonly string[], localNames: LocalNames): OriginRules {
  const allowed = new Set(allowedOrigins.map((origin) => origin.toLowerCase()));
  return { localNames, allowed, allowedHosts: new Set([...allowed].map((origin) => hostOf(origin) ?? '')) };
}

const NO_HEADERS: readonly string[] = [];

/** Returns CORS headers for allowed origins. @throws ServiceError `permission-denied` for a foreign origin or `Host` */
export function crossOriginHeaders(request: IncomingMessage, rules: OriginRules): readonly string[] {
  const { origin, host } = request.headers;
  if (origin === undefined) {
    if (rules.localNames === 'always' && !isOwnHost(host, rules)) throw foreignHost(host);
    return NO_HEADERS;
  }
  if (rules.allowed.has(origin.toLowerCase())) {
    return ['Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED_HEADERS, 'Vary', 'Origin'];
  }
  // The scheme is ignored, because behind a proxy that ends TLS the page has https and this server http.
  if (host === undefined || hostOf(origin)?.toLowerCase() !== host.toLowerCase()) {
    throw new ServiceError(
      'permission-denied',
      `Permission denied: pages of ${JSON.stringify(origin)} may not call this server; http.allowed-origins names those that may`,
    );
  }
  if (rules.localNames !== 'never' && !isOwnHost(host, rules)) throw foreignHost(host);
  return NO_HEADERS;
}

/** Returns additional headers for the response to a preflight request of an allowed origin. */
export const preflightHeaders = (allow: string): readonly string[] => [
  'Access-Control-Allow-Methods',
  allow,
  'Access-Control-Allow-Headers',
  REQUEST_HEADERS,
  'Access-Control-Max-Age',
  PREFLIGHT_SECONDS,
];

const foreignHost = (host = ''): ServiceError =>
  new ServiceError(
    'permission-denied',
    `Permission denied: ${JSON.stringify(host)} is not a name of this server, which listens on loopback; http.allowed-origins can name it, behind a proxy`,
  );

/** Whether `Host` is a local name or an allowed host. A missing `Host` is accepted, because every browser sends one. */
function isOwnHost(given: string | undefined, { allowedHosts }: OriginRules): boolean {
  if (given === undefined) return true;
  const host = given.toLowerCase();
  const name = host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1');
  return isIP(name) !== 0 || /^(.+\.)?localhost\.?$/.test(name) || allowedHosts.has(host);
}

/** Returns the part of an origin after the scheme. */
function hostOf(origin: string): string | undefined {
  const end = origin.indexOf('://');
  return end === -1 ? undefined : origin.slice(end + 3);
}
