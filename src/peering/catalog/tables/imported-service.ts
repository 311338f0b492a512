/** What came from peers: the instances of each service, by peering. */
import { defineTable } from '../../../state/table.ts';
import { peerings } from '../../record/record.ts';
import type { Instance } from './instance.ts';

export interface ImportedService {
  readonly peeringId: string;
  /** As the peer spells it. */
  readonly service: string;
  /** SHA-256 of the ExportedService as it came, base64url: the same again needs no look at what is in it. */
  readonly contentHash: string;
  readonly instances: readonly Instance[];
  /** What the instances take as JSON, in UTF-8: so much of it counts against what one peer may bring. */
  readonly bytes: number;
}

/** Equal names from two peers are different things, so the peering is part of the key; case makes no difference. */
export const importedServiceKey = (peeringId: string, service: string): string =>
  `${peeringId}/${service.toLowerCase()}`;

export const importedServices = defineTable<ImportedService>()({
  name: 'imported-services',
  key: ({ peeringId, service }) => importedServiceKey(peeringId, service),
  formats: { version: 1 },
  indexes: { peering: { entry: ({ peeringId }) => peeringId, watched: true } },
  owners: [{ table: peerings, index: 'peering' }],
});
