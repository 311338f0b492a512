/** The table of services imported from peers, with their instances. */
import { defineTable } from '../../../state/table.ts';
import { peerings } from '../../record/record.ts';
import type { Instance } from './instance.ts';

export interface ImportedService {
  readonly peeringId: string;
  /** As the peer spells it. */
  readonly service: string;
  /** SHA-256 of the received ExportedService, base64url. Lets the server skip content that it already has. */
  readonly contentHash: string;
  readonly instances: readonly Instance[];
  /** Size of the instances as JSON, in bytes of UTF-8. Counts against the limit of one peer ([SVC-83]). */
  readonly bytes: number;
}

/** The key ignores case and contains the peering, because equal names of two peers differ ([SVC-79]). */
export const importedServiceKey = (peeringId: string, service: string): string =>
  `${peeringId}/${service.toLowerCase()}`;

export const importedServices = defineTable<ImportedService>()({
  name: 'imported-services',
  key: ({ peeringId, service }) => importedServiceKey(peeringId, service),
  formats: { version: 1 },
  indexes: { peering: { entry: ({ peeringId }) => peeringId, watched: true } },
  owners: [{ table: peerings, index: 'peering' }],
  countsToward: [{ table: peerings, key: ({ peeringId }) => peeringId }],
});
