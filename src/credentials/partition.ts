/** Partitions: the table, the syntax of names, and the JSON document [ACL-57]. */
import { type Static, Type } from 'typebox';
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
