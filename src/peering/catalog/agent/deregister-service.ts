/** `PUT /v1/agent/service/deregister/:id`: takes a service off this server's node. */
import { authorize } from '../../../credentials/caller.ts';
import { type Asked, writeFor } from '../../../credentials/operation.ts';
import { deleteService } from '../change-catalog.ts';
import { absent } from '../query/visibility.ts';
import { catalogServiceKey, catalogServices } from '../tables/catalog-service.ts';
import { type Agent, findAgent, unknownService } from './agent.ts';

/** @throws ServiceError `bad-request` | `permission-denied` | `not-found`, StateError */
export async function deregisterService(agent: Agent, asked: Asked, id: string): Promise<void> {
  await writeFor(agent.credentials, asked, (tx) => {
    const { caller, partition, stored: node } = findAgent(agent, tx, asked, 'write');
    const stored = node && tx.get(catalogServices, catalogServiceKey(node.row.uid, id));
    if (stored === undefined) throw absent(caller, partition, unknownService(id));
    authorize(caller, { resource: 'services', access: 'write', partition, name: stored.row.service.name });
    deleteService(tx, stored);
  });
}
