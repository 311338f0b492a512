/** The query parameters and headers that endpoints of `/v1` share. */
import { Type } from 'typebox';
import { WAIT_MS_DEFAULT, WAIT_MS_MAX } from '../limits.ts';
import type { Parameter } from '../parameter.ts';

const flag = (name: string, description: string): Parameter => ({
  name,
  description,
  schema: Type.String(),
  flag: true,
});

const minutes = (ms: number): string => `${ms / 60_000} minutes`;

export const PRETTY = flag('pretty', 'Indents the response by 4 spaces.');

export const INDEX: Parameter = {
  name: 'index',
  description: 'The X-Service-Index of an earlier response. The server responds when the result is newer.',
  schema: Type.Integer({ minimum: 0 }),
};

export const WAIT: Parameter = {
  name: 'wait',
  description: `How long to wait with index, such as 30s or 1m30s. Default: ${minutes(WAIT_MS_DEFAULT)}. Maximum: ${minutes(WAIT_MS_MAX)}. The server adds up to one sixteenth.`,
  schema: Type.String(),
};

export const CONSISTENT = flag(
  'consistent',
  'The response reflects every write that was acknowledged before the request. This is the default. Conflicts with stale and cached.',
);

export const STALE = flag('stale', "The response comes from this server's memory, even if the store is unreachable.");

export const CACHED = flag('cached', 'The same as stale, with the response headers Age and X-Cache.');

export const PARTITION: Parameter = {
  name: 'partition',
  description: 'The partition of the request. Default: the partition of the token.',
  schema: Type.String(),
};

/** For lists. */
export const PARTITION_OR_ALL: Parameter = {
  ...PARTITION,
  description: `${PARTITION.description} With *, every partition that the caller may read.`,
};

export const PARTITION_HEADER: Parameter = {
  name: 'X-Service-Partition',
  description: 'The same as the query parameter partition. If both are given, they must be equal.',
  schema: Type.String(),
};
