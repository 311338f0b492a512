/** The table of trust bundles: the CA roots that a peer last sent, with which a mesh verifies its services. */
import { defineTable } from '../../state/table.ts';
import { peerings } from './record.ts';

export interface TrustBundle {
  readonly peeringId: string;
  readonly trustDomain: string;
  /** PEM certificates, each ending in a newline. */
  readonly roots: readonly string[];
}

export const trustBundles = defineTable<TrustBundle>()({
  name: 'trust-bundles',
  key: ({ peeringId }) => peeringId,
  formats: { version: 1 },
  indexes: { peering: { entry: ({ peeringId }) => peeringId } },
  owners: [{ table: peerings, index: 'peering' }],
  countsToward: [{ table: peerings, key: ({ peeringId }) => peeringId }],
});
