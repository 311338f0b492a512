/**
 * Which pages may call from a browser: the server's own, and those that `http.allowed-origins` names. Without this any
 * page that someone on the machine opens could call a server on loopback.
 *
 * Whoever owns a name can let it lead to 127.0.0.1 for a moment (DNS rebinding): then their page and this server have one
 * origin, and the browser sends no Origin with a GET. Only Host tells, so a server on loopback looks at that.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { ServiceError } from '../errors.ts';

/** What a browser may read of an answer besides the usual. */
const EXPOSED_HEADERS =
  'X-Request-Id, Retry-After, X-Service-Index, X-Service-KnownLeader, X-Service-LastContact, X-Service-Results-Filtered-By-ACLs';

/** The headers that our clients send. */
const REQUEST_HEADERS = 'Authorization, Content-Type, If-Match, X-Request-Id, X-Service-Partition, X-Service-Token';

/** How long a browser may remember an answer to its preflight, in seconds. */
const PREFLIGHT_SECONDS = '600';

/**
 * Who must name the server as only its own machine does, by `localhost` or an address: a server on loopback has no other
 * name but the hosts of `http.allowed-origins`, for a proxy in front of it. Pages; or everybody, where no token is needed
 * and a page that sends no Origin would be answered; or, elsewhere, nobody.
 */
export type LocalNames = 'for-pages' | 'for-everybody' | 'for-nobody';

/** Who may call. */
export interface OriginRules {
  readonly localNames: LocalNames;
  /** Origins of other pages, in lower case. */
  readonly allowed: ReadonlySet<string>;
  /** Their hosts with ports, in lower case. */
  readonly allowedHosts: ReadonlySet<string>;
}

/** The rules from `http.allowed-origins`. */
export function originRules(allowedOrigins: readonly string[], localNames: LocalNames): OriginRules {
  const allowed = new Set(allowedOrigins.map((origin) => origin.toLowerCase()));
  return { localNames, allowed, allowedHosts: new Set([...allowed].map((origin) => hostOf(origin) ?? '')) };
}

const NO_HEADERS: readonly string[] = [];

/**
 * The headers that let the page of an allowed origin read the answer; none for everyone else who may call.
 * @throws ServiceError `permission-denied` for a foreign origin, or a foreign name of this server
 */
export function crossOriginHeaders(request: IncomingMessage, rules: OriginRules): readonly string[] {
  const { origin, host } = request.headers;
  if (origin === undefined) {
    if (rules.localNames === 'for-everybody' && !isOwnHost(host, rules)) throw foreignHost(host);
    return NO_HEADERS;
  }
  if (rules.allowed.has(origin.toLowerCase())) {
    return ['Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED_HEADERS, 'Vary', 'Origin'];
  }
  // The scheme is left aside: behind a proxy that ends TLS the page is https and this server is not.
  if (host === undefined || hostOf(origin)?.toLowerCase() !== host.toLowerCase()) {
    throw new ServiceError(
      'permission-denied',
      `Permission denied: pages of ${JSON.stringify(origin)} may not call this server; http.allowed-origins names those that may`,
    );
  }
  if (rules.localNames !== 'for-nobody' && !isOwnHost(host, rules)) throw foreignHost(host);
  return NO_HEADERS;
}

/** Further headers for the preflight request of an allowed origin. */
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
    `Permission denied: ${JSON.stringify(host)} is no name of this server, which listens on loopback; http.allowed-origins can name it, behind a proxy`,
  );

/** No browser is without a Host. */
function isOwnHost(given: string | undefined, { allowedHosts }: OriginRules): boolean {
  if (given === undefined) return true;
  const host = given.toLowerCase();
  const name = host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1');
  return isIP(name) !== 0 || /^(.+\.)?localhost\.?$/.test(name) || allowedHosts.has(host);
}

/** What stands after the scheme. */
function hostOf(origin: string): string | undefined {
  const end = origin.indexOf('://');
  return end === -1 ? undefined : origin.slice(end + 3);
}
