/** The headers of a read: how current the answer is. */

export interface ReadFacts {
  /** What to pass as `index` to wait for the next change; never 0. */
  readonly index: number;
  readonly storeKnown: boolean;
  readonly lastContactMs: number;
  readonly consistency: 'consistent' | 'stale';
  readonly cached: boolean;
  /** Something was left out that the caller may not read. */
  readonly filtered: boolean;
}

export interface ReadHeaderOptions {
  readonly defaultPolicy: 'allow' | 'deny';
  /** `compat = consul`: every `X-Service-…` header again as `X-Consul-…`. */
  readonly consul: boolean;
}

const SERVICE = 'X-Service-';

/** The headers, flat: name, value, name, value. */
export function readHeaders(facts: ReadFacts, options: ReadHeaderOptions): string[] {
  const headers = [
    'X-Service-Index',
    String(facts.index),
    'X-Service-KnownLeader',
    facts.storeKnown ? 'true' : 'false',
    'X-Service-LastContact',
    String(facts.lastContactMs),
    'X-Service-Effective-Consistency',
    facts.consistency,
    'X-Service-Default-ACL-Policy',
    options.defaultPolicy,
  ];
  if (facts.filtered) headers.push('X-Service-Results-Filtered-By-ACLs', 'true');
  if (options.consul) repeatForConsul(headers);
  if (facts.cached) headers.push('X-Cache', 'HIT', 'Age', String(Math.floor(facts.lastContactMs / 1000)));
  return headers;
}

function repeatForConsul(headers: string[]): void {
  const { length } = headers;
  for (let i = 0; i < length; i += 2) {
    headers.push(`X-Consul-${headers[i]?.slice(SERVICE.length)}`, headers[i + 1] ?? '');
  }
}
