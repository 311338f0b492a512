/** Reads the query parameters that all reads of `/v1` support. */
import { ServiceError } from '../errors.ts';
import { WAIT_MS_DEFAULT, WAIT_MS_MAX } from '../limits.ts';
import type { Parameter } from '../parameter.ts';
import type { Query } from '../query.ts';
import { parseDuration } from '../v1/duration.ts';
import { CACHED, CONSISTENT, INDEX, PRETTY, STALE, WAIT } from '../v1/parameters.ts';

export interface ReadParameters {
  /** The result must have a higher index, or the query waits. 0 disables waiting. */
  readonly index: number;
  /** The time to wait, without the random share. */
  readonly waitMs: number;
  readonly consistency: 'consistent' | 'stale';
  /** Whether to send `Age` and `X-Cache`. */
  readonly cached: boolean;
  readonly pretty: boolean;
}

const DEFAULTS: ReadParameters = {
  index: 0,
  waitMs: WAIT_MS_DEFAULT,
  consistency: 'consistent',
  cached: false,
  pretty: false,
};

const INDEX_MAX = 2n ** 64n - 1n;

/** Reads the parameters. Ignores `cached` unless the endpoint is cacheable. @throws ServiceError `bad-request` */
export function readParameters(query: Query, cacheable: boolean): ReadParameters {
  if (query.size === 0) return DEFAULTS;
  const stale = query.has(STALE.name);
  const cached = cacheable && query.has(CACHED.name);
  if (query.has(CONSISTENT.name)) {
    if (stale) throw conflictingModes(STALE);
    if (cached) throw conflictingModes(CACHED);
  }
  return {
    index: indexOf(query.get(INDEX.name)),
    waitMs: waitOf(query.get(WAIT.name)),
    consistency: stale || cached ? 'stale' : 'consistent',
    cached,
    pretty: query.has(PRETTY.name),
  };
}

const conflictingModes = ({ name }: Parameter): ServiceError =>
  new ServiceError('bad-request', `Cannot specify ?${name} with ?${CONSISTENT.name}, conflicting semantics.`);

function indexOf(text: string | undefined): number {
  if (text === undefined || text === '') return DEFAULTS.index;
  if (!/^\d{1,20}$/.test(text) || BigInt(text) > INDEX_MAX) throw new ServiceError('bad-request', 'Invalid index');
  return Number(text);
}

function waitOf(text: string | undefined): number {
  if (text === undefined || text === '') return DEFAULTS.waitMs;
  const waitMs = parseDuration(text);
  if (waitMs === undefined) throw new ServiceError('bad-request', 'Invalid wait time');
  return waitMs === 0 ? DEFAULTS.waitMs : Math.min(waitMs, WAIT_MS_MAX);
}
