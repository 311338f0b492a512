/** Services that a peer exports and that could not be taken, with the reason: what was there before stays until they can. */
import { defineTable } from '../../../state/table.ts';
import { peerings } from '../../record/record.ts';
import { importedServiceKey } from './imported-service.ts';

export interface ImportProblem {
  readonly peeringId: string;
  readonly service: string;
  /** What the peer was told. */
  readonly reason: string;
  /** RFC 3339, UTC. */
  readonly since: string;
}

export const importProblems = defineTable<ImportProblem>()({
  name: 'import-problems',
  key: ({ peeringId, service }) => importedServiceKey(peeringId, service),
  formats: { version: 1 },
  indexes: { peering: { entry: ({ peeringId }) => peeringId, watched: true } },
  owners: [{ table: peerings, index: 'peering' }],
});
