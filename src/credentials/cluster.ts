/** The table of the settings that the first start of a cluster fixes [SRV-33]. */
import { defineTable } from '../state/table.ts';

export interface Cluster {
  /** The key of the table's only row. */
  readonly id: 'cluster';
  /** Peers identify this cluster by it. */
  readonly datacenter: string;
  readonly createTime: string;
}

export const cluster = defineTable<Cluster>()({
  name: 'cluster',
  key: (row) => row.id,
  formats: { version: 1 },
  indexes: {},
});
