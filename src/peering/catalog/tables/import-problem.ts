/**
 * The table of exported services that this cluster rejected, with the reason. The last accepted version of such a
 * service stays in use until the server accepts a newer one ([SVC-82]).
 */
import { defineTable } from '../../../state/table.ts';
import { peerings } from '../../record/record.ts';
import { importedServiceKey } from './imported-service.ts';

export interface ImportProblem {
  readonly peeringId: string;
  readonly service: string;
  /** The reason sent to the peer. */
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
  countsToward: [{ table: peerings, key: ({ peeringId }) => peeringId }],
});
