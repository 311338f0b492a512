/** `GET /v1/peering/:name/exported-services`: what the peer gets, and what of it no message can carry. Can wait. */
import { type Static, Type } from 'typebox';
import type { Asked } from '../../credentials/operation.ts';
import { partitionKey } from '../../credentials/partition.ts';
import type { Evaluate } from '../../http/blocking/reads.ts';
import { MEMO_ENTRY_BYTES } from '../../state/limits.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { catalogEntry, catalogNodes } from '../catalog/tables/catalog-node.ts';
import { catalogServices } from '../catalog/tables/catalog-service.ts';
import { exportsTo, watchedExports } from '../config-entries/exported-services.ts';
import { SMALL_SERVICE_INSTANCES } from '../export/limits.ts';
import { messageBytesOf } from '../export/service-payloads.ts';
import { readOfPeering } from '../find/peering-read.ts';
import { MESSAGE_BYTES_MAX } from '../limits.ts';
import type { PeeringService } from '../peering-context.ts';
import type { Peering } from '../record/record.ts';

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
export function readPeeringExports(service: PeeringService, asked: Asked, name: string): Evaluate {
  const { state } = service.credentials;
  return readOfPeering(service, { asked, name, access: 'read' }, ({ row }, snapshot) => ({
    alsoWatched: [
      ...watchedExports(state, row.partition),
      state.watchEntry(catalogNodes, 'partition', partitionKey(row.partition)),
    ],
    body: () =>
      snapshot.memo(
        `exported services\0${row.id}`,
        () => exportedTo(snapshot, row),
        (services) => services.length * MEMO_ENTRY_BYTES,
      ),
  }));
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
