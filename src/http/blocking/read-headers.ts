/** The response headers of reads, which tell the client how current the result is. */
import { Type } from 'typebox';
import type { Parameter } from '../parameter.ts';

const INDEX: Parameter = {
  name: 'X-Service-Index',
  description: 'The value of index that waits for the next change. Never 0, and never falls.',
  schema: Type.Integer({ minimum: 1 }),
};
const KNOWN_LEADER: Parameter = {
  name: 'X-Service-KnownLeader',
  description: 'Whether the server can reach the store.',
  schema: Type.Boolean(),
};
const LAST_CONTACT: Parameter = {
  name: 'X-Service-LastContact',
  description: 'The time since the store last answered, in milliseconds.',
  schema: Type.Integer({ minimum: 0 }),
};
const CONSISTENCY: Parameter = {
  name: 'X-Service-Effective-Consistency',
  description: 'The read mode of the response.',
  schema: Type.Enum(['consistent', 'stale']),
};
const DEFAULT_POLICY: Parameter = {
  name: 'X-Service-Default-ACL-Policy',
  description: 'The setting acl.default-policy.',
  schema: Type.Enum(['allow', 'deny']),
};
const CACHE: Parameter = { name: 'X-Cache', description: 'Sent with cached.', schema: Type.Enum(['HIT']) };
const AGE: Parameter = {
  name: 'Age',
  description: 'Sent with cached: the time since the store last answered, in seconds.',
  schema: Type.Integer({ minimum: 0 }),
};

export const FILTERED: Parameter = {
  name: 'X-Service-Results-Filtered-By-ACLs',
  description: 'true if the response omits items that the caller may not read.',
  schema: Type.Enum(['true']),
};

export const READ_HEADERS: readonly Parameter[] = [INDEX, KNOWN_LEADER, LAST_CONTACT, CONSISTENCY, DEFAULT_POLICY];

export const CACHED_HEADERS: readonly Parameter[] = [CACHE, AGE];

export interface ReadMetadata {
  /** The value of `index` that waits for the next change. Never 0. */
  readonly index: number;
  readonly storeReachable: boolean;
  readonly lastContactMs: number;
  readonly consistency: 'consistent' | 'stale';
  readonly cached: boolean;
  readonly filtered: boolean;
  readonly defaultPolicy: 'allow' | 'deny';
}

/** Returns the headers of a read, flat: name, value, name, value. */
export function readHeaders(metadata: ReadMetadata): string[] {
  const headers = [
    INDEX.name,
    String(metadata.index),
    KNOWN_LEADER.name,
    metadata.storeReachable ? 'true' : 'false',
    LAST_CONTACT.name,
    String(metadata.lastContactMs),
    CONSISTENCY.name,
    metadata.consistency,
    DEFAULT_POLICY.name,
    metadata.defaultPolicy,
  ];
  if (metadata.filtered) headers.push(FILTERED.name, 'true');
  if (metadata.cached) headers.push(CACHE.name, 'HIT', AGE.name, String(Math.floor(metadata.lastContactMs / 1000)));
  return headers;
}
