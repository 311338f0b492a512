/** Preload of a server (`node --import`): makes it a newer version of Accord, which stores partitions in format 2. */
import { partitions } from '../../../src/credentials/partition.ts';

Object.assign(partitions.formats, {
  version: 2,
  read: { 1: (stored: unknown) => stored },
  write: { 1: (row: unknown) => row },
});
