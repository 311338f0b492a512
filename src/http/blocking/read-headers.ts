/** The headers of a read: how current the answer is. */
import { Type } from 'typebox';
import type { Parameter } from '../parameter.ts';

const INDEX: Parameter = {
  name: 'X-Service-Index',
  description: 'What to pass as index to wait for the next change; never 0, and it never falls.',
  schema: Type.Integer({ minimum: 1 }),
};
const KNOWN_LEADER: Parameter = {
  name: 'X-Service-KnownLeader',
  description: 'Whether the store can be reached.',
  schema: Type.Boolean(),
};
const LAST_CONTACT: Parameter = {
  name: 'X-Service-LastContact',
  description: 'How long ago the store last answered, in milliseconds.',
  schema: Type.Integer({ minimum: 0 }),
};
const CONSISTENCY: Parameter = {
  name: 'X-Service-Effective-Consistency',
  description: 'How the answer was made.',
  schema: Type.Enum(['consistent', 'stale']),
};
const DEFAULT_POLICY: Parameter = {
  name: 'X-Service-Default-ACL-Policy',
  description: 'The setting acl.default-policy.',
  schema: Type.Enum(['allow', 'deny']),
};
const CACHE: Parameter = { name: 'X-Cache', description: 'With cached.', schema: Type.Enum(['HIT']) };
const AGE: Parameter = {
  name: 'Age',
  description: 'With cached: how long ago the store last answered, in seconds.',
  schema: Type.Integer({ minimum: 0 }),
};

/** On lists that are shorter than they would be for somebody else. */
export const FILTERED: Parameter = {
  name: 'X-Service-Results-Filtered-By-ACLs',
  description: 'true: something was left out that the caller may not read.',
  schema: Type.Enum(['true']),
};

/** What every read has. */
export const READ_HEADERS: readonly Parameter[] = [INDEX, KNOWN_LEADER, LAST_CONTACT, CONSISTENCY, DEFAULT_POLICY];

/** What a read with `cached` has besides. */
export const CACHED_HEADERS: readonly Parameter[] = [CACHE, AGE];

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

/** The headers, flat: name, value, name, value. */
export function readHeaders(facts: ReadFacts, defaultPolicy: 'allow' | 'deny'): string[] {
  const headers = [
    INDEX.name,
    String(facts.index),
    KNOWN_LEADER.name,
    facts.storeKnown ? 'true' : 'false',
    LAST_CONTACT.name,
    String(facts.lastContactMs),
    CONSISTENCY.name,
    facts.consistency,
    DEFAULT_POLICY.name,
    defaultPolicy,
  ];
  if (facts.filtered) headers.push(FILTERED.name, 'true');
  if (facts.cached) headers.push(CACHE.name, 'HIT', AGE.name, String(Math.floor(facts.lastContactMs / 1000)));
  return headers;
}
