/**
 * Which pages may call from a browser: the server's own, and those that `http.allowed-origins` names. Without this any
 * page that someone on the machine opens could call a server on loopback.
 */
import type { IncomingMessage } from 'node:http';
import { ServiceError } from './errors.ts';

/** What a browser may read of an answer besides the usual. */
const EXPOSED_HEADERS =
  'X-Request-Id, Retry-After, X-Service-Index, X-Service-KnownLeader, X-Service-LastContact, X-Service-Results-Filtered-By-ACLs';

/** The headers that our clients send. */
const REQUEST_HEADERS = 'Authorization, Content-Type, If-Match, X-Request-Id, X-Service-Partition, X-Service-Token';

/** How long a browser may remember an answer to its preflight, in seconds. */
const PREFLIGHT_SECONDS = '600';

/**
 * The headers that let the page of an allowed origin read the answer; none for everyone else who may call.
 * @throws ServiceError `permission-denied` for a foreign origin
 */
export function crossOriginHeaders(request: IncomingMessage, allowed: ReadonlySet<string>): readonly string[] {
  const { origin, host } = request.headers;
  if (origin === undefined || isOwn(origin, host)) return [];
  if (!allowed.has(origin.toLowerCase())) {
    throw new ServiceError(
      'permission-denied',
      `Permission denied: pages of ${JSON.stringify(origin)} may not call this server; http.allowed-origins names those that may`,
    );
  }
  return ['Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED_HEADERS, 'Vary', 'Origin'];
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

/** The scheme is left aside: behind a proxy that ends TLS the page is https and this server is not. */
function isOwn(origin: string, host: string | undefined): boolean {
  const end = origin.indexOf('://');
  return end !== -1 && host !== undefined && origin.slice(end + 3).toLowerCase() === host.toLowerCase();
}
