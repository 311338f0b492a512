/** Options that the commands on services share. */
import type { Command } from 'commander';
import type { ConnectionOptions } from '../../client/connection.ts';
import type { ReadOptions } from '../../client/read.ts';

export interface CatalogOptions extends ConnectionOptions, ReadOptions {
  readonly partition?: string;
  readonly peer?: string;
}

/** Makes a command of the group. */
export type Leaf = (name: string, description: string) => Command;

/** Adds the partition. */
export const withPartition = (command: Command): Command =>
  command.option('--partition <name>', "partition of the services (default: the token's own)");
