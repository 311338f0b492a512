/** Which partition a request is about. Rules: peering-decisions, "Partitions". */
import { ServiceError } from '../http/errors.ts';
import type { Reader } from '../state/memory/reader.ts';
import { DEFAULT_PARTITION, isPartitionName, partitionKey, partitions } from './partition.ts';

export type Edition = 'enterprise' | 'community';

/** Where a request can name its partition; undefined or empty: it does not. */
export interface GivenPartitions {
  readonly query: string | undefined;
  readonly header: string | undefined;
  readonly body?: string | undefined;
}

/** All partitions that the caller may read; in lists only. */
export const ALL_PARTITIONS = '*';

/**
 * The partition that the request names; undefined: it names none. Syntax only, so it comes before authorization.
 * @throws ServiceError `bad-request` when the places disagree, the name is not one, or the edition has no partitions
 */
export function givenPartition(given: GivenPartitions, edition: Edition, allAllowed = false): string | undefined {
  if (edition === 'community') {
    refuseInCommunity(given);
    return undefined;
  }
  let name: string | undefined;
  for (const candidate of [given.query, given.body, given.header]) {
    if (candidate === undefined || candidate === '') continue;
    if (name !== undefined && partitionKey(name) !== partitionKey(candidate)) {
      throw new ServiceError('bad-request', `the request names two partitions, "${name}" and "${candidate}": want one`);
    }
    name = candidate;
  }
  if (name === undefined || (allAllowed && name === ALL_PARTITIONS) || isPartitionName(name)) return name;
  if (name === ALL_PARTITIONS) throw new ServiceError('bad-request', NOT_A_LIST);
  throw new ServiceError('bad-request', invalidPartitionText(name));
}

const NOT_A_LIST = '* is not a valid partition name: only lists take it, for all partitions';

/** The words for a name that cannot be a partition's. */
export function invalidPartitionText(name: string): string {
  return `${name} is not a valid partition name: a valid partition name must consist of alphanumeric characters or '-', must start and end with an alphanumeric character, and be at most 63 characters long`;
}

/** Refuses operations on partitions where the edition has none. @throws ServiceError `bad-request` */
export function requirePartitions(edition: Edition): void {
  if (edition === 'community') throw new ServiceError('bad-request', COMMUNITY_TEXT);
}

/** Checks the name of a partition that an operation is about. @throws ServiceError `bad-request` */
export function checkPartitionName(name: string, edition: Edition): void {
  requirePartitions(edition);
  if (!isPartitionName(name)) throw new ServiceError('bad-request', invalidPartitionText(name));
}

/** The partition as it was first named. @throws ServiceError `bad-request` when it does not exist */
export function existingPartition(reader: Reader, name: string): string {
  const stored = reader.get(partitions, partitionKey(name));
  if (stored === undefined) throw new ServiceError('bad-request', `partition "${name}" does not exist`);
  return stored.row.name;
}

/** The words with which the community edition refuses a partition, wherever it is named. */
export const COMMUNITY_TEXT = 'Invalid query parameter: "partition" - Partitions are an Accord Enterprise feature';

function refuseInCommunity({ query, header, body }: GivenPartitions): void {
  const refused =
    (query !== undefined && query !== '') ||
    [header, body].some((name) => name !== undefined && name !== '' && partitionKey(name) !== DEFAULT_PARTITION);
  if (refused) throw new ServiceError('bad-request', COMMUNITY_TEXT);
}
