/** Partitions: the row, the table, names, and how a partition is shown. */
import { type Static, Type } from 'typebox';
import { defineTable, type Stored } from '../state/table.ts';

export interface Partition {
  /** As first given; compared without regard to case. */
  readonly name: string;
  readonly description: string;
}

export const DEFAULT_PARTITION = 'default';

export const partitions = defineTable<Partition>()({
  name: 'partitions',
  key: (partition) => partitionKey(partition.name),
  formats: { version: 1 },
  // One entry for all: who waits for the list waits for it.
  indexes: { all: { entry: () => '', watched: true } },
});

/** The key of a partition's row, and the form in which names are compared. */
export const partitionKey = (name: string): string => name.toLowerCase();

/** A DNS label: the rule of peer names, which partition names follow. */
const NAME = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

export const isPartitionName = (name: string): boolean => NAME.test(name);

/** A partition as the API shows it. */
export const shownPartitionSchema = Type.Object(
  { Name: Type.String(), Description: Type.String(), CreateIndex: Type.Integer(), ModifyIndex: Type.Integer() },
  { title: 'Partition' },
);
export type ShownPartition = Readonly<Static<typeof shownPartitionSchema>>;

export function showPartition({ row, createIndex, modifyIndex }: Stored<Partition>): ShownPartition {
  return { Name: row.name, Description: row.description, CreateIndex: createIndex, ModifyIndex: modifyIndex };
}
