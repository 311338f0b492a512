/**
 * Partitions: the table, the syntax of names, the JSON document [ACL-57], and the partition that a request names
 * [ACL-47] to [ACL-55].
 */
import { type Static, Type } from 'typebox';
import { ServiceError } from '../http/errors.ts';
import type { Reader } from '../state/memory/reader.ts';
import { defineTable, type Stored } from '../state/table.ts';

export interface Partition {
  /** In the spelling of the creation. Names are compared without regard to case [ACL-59]. */
  readonly name: string;
  readonly description: string;
}

export const DEFAULT_PARTITION = 'default';

export const partitions = defineTable<Partition>()({
  name: 'partitions',
  key: (partition) => partitionKey(partition.name),
  formats: { version: 1 },
  // One entry for all rows, which a query that waits for the list watches.
  indexes: { all: { entry: () => '', watched: true } },
});

/** Returns the key of a partition's row. Two names refer to the same partition if their keys are equal. */
export const partitionKey = (name: string): string => name.toLowerCase();

/** A DNS label, as for the names of peers [ACL-49]. */
const NAME = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

export const isPartitionName = (name: string): boolean => NAME.test(name);

export const partitionSchema = Type.Object(
  { Name: Type.String(), Description: Type.String(), CreateIndex: Type.Integer(), ModifyIndex: Type.Integer() },
  { title: 'Partition' },
);
export type PartitionJson = Readonly<Static<typeof partitionSchema>>;

export function partitionToJson({ row, createIndex, modifyIndex }: Stored<Partition>): PartitionJson {
  return { Name: row.name, Description: row.description, CreateIndex: createIndex, ModifyIndex: modifyIndex };
}

export type Edition = 'enterprise' | 'community';

/** The partition in each place of a request that can name a partition. A place without a name is undefined or empty. */
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

/**
 * Returns the name of a partition in its stored spelling.
 * @throws ServiceError `bad-request` if it is missing [ACL-50]
 */
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
