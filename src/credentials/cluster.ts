/** What a cluster decides once, at its first start. */
import { defineTable } from '../state/table.ts';

export interface Cluster {
  /** The row's only key. */
  readonly id: 'cluster';
  /** Fixed at the first start: other clusters know this one by it. */
  readonly datacenter: string;
  readonly createTime: string;
}

export const cluster = defineTable<Cluster>()({
  name: 'cluster',
  key: (row) => row.id,
  formats: { version: 1 },
  indexes: {},
});
