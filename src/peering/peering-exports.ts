/** `GET /v1/peering/:name/exported-services`: what the peer gets, and what of it no message can carry. Can wait. */
import { type Static, Type } from 'typebox';
import { type Asked, waitingAs } from '../credentials/operation.ts';
import { partitionKey } from '../credentials/partition.ts';
import type { Evaluate } from '../http/v1/reads.ts';
import type { Snapshot } from '../state/snapshot.ts';
import type { DeepReadonly } from '../state/table.ts';
import { catalogEntry, catalogNodes } from './catalog/catalog-node.ts';
import { catalogServices } from './catalog/catalog-service.ts';
import { exportsTo, watchedExports } from './entries/exported.ts';
import { messageBytesOf } from './export/contents.ts';
import { SMALL_SERVICE_INSTANCES } from './export/limits.ts';
import { findPeering, peeringNotFound } from './find-peering.ts';
import { MESSAGE_BYTES_MAX } from './limits.ts';
import { checkPeerName } from './peer-name.ts';
import { type Peering, peerings } from './record.ts';
import type { PeeringService } from './service.ts';

const exportedSchema = Type.Object(
  {
    Service: Type.String(),
    Instances: Type.Integer({ minimum: 1 }),
    TooLarge: Type.Optional(
      Type.Object(
        { Bytes: Type.Integer(), Limit: Type.Integer() },
        { description: 'It is not sent: no message can carry it. The peer keeps what it had of it.' },
      ),
    ),
  },
  { title: 'PeeringExportedService' },
);
type Exported = Readonly<Static<typeof exportedSchema>>;

export const peeringExportsSchema = Type.Array(exportedSchema);

/** By the name of the service; of a TERMINATED peering nothing. @throws ServiceError `bad-request` */
export function readPeeringExports({ credentials }: PeeringService, asked: Asked, name: string): Evaluate {
  checkPeerName(name);
  const { state } = credentials;
  return (snapshot) => {
    const { caller, partition, stored } = findPeering(credentials, snapshot, { asked, name, access: 'read' });
    if (stored === undefined) {
      const watched = state.watchEntry(peerings, 'partition', partitionKey(partition));
      return { ...waitingAs(caller), watched, error: peeringNotFound(name) };
    }
    const { id } = stored.row;
    return {
      ...waitingAs(caller),
      watched: [
        state.watchRow(peerings, id),
        ...watchedExports(state, partition),
        state.watchEntry(catalogNodes, 'partition', partitionKey(partition)),
      ],
      body: () => snapshot.memo(`exported services\0${id}`, () => exportedTo(snapshot, stored.row)),
    };
  };
}

function exportedTo(snapshot: Snapshot, { partition, name, state }: DeepReadonly<Peering>): readonly Exported[] {
  if (state === 'TERMINATED') return [];
  return exportsTo(snapshot, { partition, peerName: name }).names.map((service) => {
    const { length } = snapshot.list(catalogServices, 'name', catalogEntry(partition, service));
    const bytes = length <= SMALL_SERVICE_INSTANCES ? 0 : messageBytesOf(snapshot, partition, service);
    return {
      Service: service,
      Instances: length,
      ...(bytes > MESSAGE_BYTES_MAX && { TooLarge: { Bytes: bytes, Limit: MESSAGE_BYTES_MAX } }),
    };
  });
}
