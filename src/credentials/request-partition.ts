/** Determines the partition that a request names [ACL-47] to [ACL-55]. */
import { ServiceError } from '../http/errors.ts';
import type { Reader } from '../state/memory/reader.ts';
import { DEFAULT_PARTITION, isPartitionName, partitionKey, partitions } from './partition.ts';

export type Edition = 'enterprise' | 'community';

/** The partition in each place of a request that can name one. Undefined or empty: that place names none. */
export interface RequestPartitions {
  readonly query: string | undefined;
  readonly header: string | undefined;
  readonly body?: string | undefined;
}

/** Requests every partition that the caller may read. Only lists accept it [ACL-51]. */
export const ALL_PARTITIONS = '*';

/**
 * Returns the partition that the request names, or undefined. Checks only the syntax, so it runs before authorization.
 * @param allAllowed accepts `*`
 * @throws ServiceError `bad-request` if the places name different partitions, the name is not valid, or the edition has
 *   no partitions
 */
export function requestedPartition(given: RequestPartitions, edition: Edition, allAllowed = false): string | undefined {
  if (edition === 'community') {
    rejectInCommunity(given);
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
  if (name === ALL_PARTITIONS) throw new ServiceError('bad-request', ONLY_LISTS_TEXT);
  throw new ServiceError('bad-request', invalidPartitionText(name));
}

const ONLY_LISTS_TEXT = '* is not a valid partition name: only lists accept *, for all partitions';

/** Returns the error text for a name that is not valid [ACL-49]. */
export function invalidPartitionText(name: string): string {
  return `${name} is not a valid partition name: a valid partition name must consist of alphanumeric characters or '-', must start and end with an alphanumeric character, and be at most 63 characters long`;
}

/** Rejects requests about partitions in the community edition [ACL-55]. @throws ServiceError `bad-request` */
export function requireEnterprise(edition: Edition): void {
  if (edition === 'community') throw new ServiceError('bad-request', COMMUNITY_TEXT);
}

/** Checks the partition name in a path. @throws ServiceError `bad-request` */
export function checkPartitionName(name: string, edition: Edition): void {
  requireEnterprise(edition);
  if (!isPartitionName(name)) throw new ServiceError('bad-request', invalidPartitionText(name));
}

/** Returns the name of a partition in its stored spelling. @throws ServiceError `bad-request` if it is missing [ACL-50] */
export function existingPartition(reader: Reader, name: string): string {
  const stored = reader.get(partitions, partitionKey(name));
  if (stored === undefined) throw new ServiceError('bad-request', `partition "${name}" does not exist`);
  return stored.row.name;
}

/** The error text of the community edition for any named partition [ACL-54]. */
export const COMMUNITY_TEXT = 'Invalid query parameter: "partition" - Partitions are an Accord Enterprise feature';

function rejectInCommunity({ query, header, body }: RequestPartitions): void {
  const isNamed =
    (query !== undefined && query !== '') ||
    [header, body].some((name) => name !== undefined && name !== '' && partitionKey(name) !== DEFAULT_PARTITION);
  if (isNamed) throw new ServiceError('bad-request', COMMUNITY_TEXT);
}
