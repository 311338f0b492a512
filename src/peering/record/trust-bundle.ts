/** The roots of a peer's cluster, as its trust bundle last named them: by them its services are known in a mesh. */
import { defineTable } from '../../state/table.ts';
import { peerings } from './record.ts';

export interface TrustBundle {
  readonly peeringId: string;
  readonly trustDomain: string;
  /** PEM, each ending in a newline. */
  readonly roots: readonly string[];
}

export const trustBundles = defineTable<TrustBundle>()({
  name: 'trust-bundles',
  key: ({ peeringId }) => peeringId,
  formats: { version: 1 },
  indexes: { peering: { entry: ({ peeringId }) => peeringId } },
  owners: [{ table: peerings, index: 'peering' }],
});
