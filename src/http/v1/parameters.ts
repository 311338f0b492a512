/** The query parameters and headers that endpoints of `/v1` share. */
import { Type } from 'typebox';
import { WAIT_MS_DEFAULT, WAIT_MS_MAX } from '../limits.ts';
import type { Parameter } from '../parameter.ts';

/** A parameter that counts when it is there. */
const flag = (name: string, description: string): Parameter => ({
  name,
  description,
  schema: Type.String(),
  flag: true,
});

const minutes = (ms: number): string => `${ms / 60_000} minutes`;

export const PRETTY = flag('pretty', 'Indents the answer by four.');

export const INDEX: Parameter = {
  name: 'index',
  description: 'The X-Service-Index of an earlier answer: this one waits until there is something newer.',
  schema: Type.Integer({ minimum: 0 }),
};

export const WAIT: Parameter = {
  name: 'wait',
  description: `How long to wait with index, such as 30s or 1m30s; ${minutes(WAIT_MS_DEFAULT)} unless given, at most ${minutes(WAIT_MS_MAX)}, and up to a sixteenth more.`,
  schema: Type.String(),
};

export const CONSISTENT = flag(
  'consistent',
  'The answer shows everything that was acknowledged before; as without it. Not together with stale or cached.',
);

export const STALE = flag('stale', "The answer comes from this server's memory, also while the store is away.");

export const CACHED = flag('cached', 'As stale; the answer has Age and X-Cache.');

export const PARTITION: Parameter = {
  name: 'partition',
  description: "The partition that the request is about; that of the caller's token unless given.",
  schema: Type.String(),
};

/** For lists. */
export const PARTITION_OR_ALL: Parameter = {
  ...PARTITION,
  description: `${PARTITION.description} * is every one that the caller may read something in.`,
};

export const PARTITION_HEADER: Parameter = {
  name: 'X-Service-Partition',
  description: 'The same as the query parameter partition; where both are given they must agree.',
  schema: Type.String(),
};
