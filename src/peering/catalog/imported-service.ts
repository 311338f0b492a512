/** What came from peers: the instances of each service, by peering. */
import { defineTable } from '../../state/table.ts';
import { peerings } from '../record.ts';
import type { Instance } from './instance.ts';

export interface ImportedService {
  readonly peeringId: string;
  readonly service: string;
  readonly instances: readonly Instance[];
}

/** Equal names from two peers are different things, so the peering is part of the key. */
export const importedServiceKey = (peeringId: string, service: string): string => `${peeringId}/${service}`;

export const importedServices = defineTable<ImportedService>()({
  name: 'imported-services',
  key: ({ peeringId, service }) => importedServiceKey(peeringId, service),
  formats: { version: 1 },
  indexes: { peering: { entry: ({ peeringId }) => peeringId } },
  owners: [{ table: peerings, index: 'peering' }],
});
