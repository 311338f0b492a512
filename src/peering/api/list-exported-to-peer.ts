/** `GET /v1/peering/:name/exported-services`: the services exported to the peer ([SVC-78]). A blocking query. */
import { type Static, Type } from 'typebox';
import type { RequestContext } from '../../credentials/caller.ts';
import { partitionKey } from '../../credentials/partition.ts';
import type { Evaluate } from '../../http/blocking/blocking-query.ts';
import { jsonList } from '../../http/v1/json-answer.ts';
import { filterInSlices, mapInSlices, type Steps } from '../../state/clock/slices.ts';
import { LIST_ELEMENT_BYTES } from '../../state/limits.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { localServiceNames } from '../catalog/query/local-instances.ts';
import { catalogEntry, catalogNodes } from '../catalog/tables/catalog-node.ts';
import { catalogServices } from '../catalog/tables/catalog-service.ts';
import { isExportedTo, watchedExports } from '../config-entries/exported-services.ts';
import { SMALL_SERVICE_INSTANCES } from '../export/limits.ts';
import { serviceMessageBytes } from '../export/service-payloads.ts';
import { peeringQuery } from '../find/find-peering.ts';
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
        { description: 'The service exceeds the size of a message and is not sent. The peer keeps its last version.' },
      ),
    ),
  },
  { title: 'PeeringExportedService' },
);
type Exported = Readonly<Static<typeof exportedSchema>>;

export const peeringExportsSchema = Type.Array(exportedSchema);

/** Returns the services by name. A TERMINATED peering has none. @throws ServiceError `bad-request` */
export function readPeeringExports(service: PeeringService, context: RequestContext, name: string): Evaluate {
  const { state } = service.credentials;
  return peeringQuery(service, { context, name, access: 'read' }, ({ row }, snapshot) => ({
    alsoWatched: [
      ...watchedExports(state, row.partition),
      state.watchEntry(catalogNodes, 'partition', partitionKey(row.partition)),
    ],
    *longBody() {
      const services = yield* snapshot.memoizeInSlices(
        `exported services\0${row.id}`,
        () => exportedTo(snapshot, row),
        ({ length }) => length * LIST_ELEMENT_BYTES,
      );
      return { json: yield* jsonList(services, (one) => JSON.stringify(one)) };
    },
  }));
}

function* exportedTo(
  snapshot: Snapshot,
  { partition, name, state }: DeepReadonly<Peering>,
): Steps<readonly Exported[]> {
  if (state === 'TERMINATED') return [];
  const peer = { partition, peerName: name };
  const services = yield* localServiceNames(snapshot, partition);
  const exported = yield* filterInSlices(services, (service) => isExportedTo(snapshot, peer, service));
  return yield* mapInSlices(exported, (service): Exported => {
    const { length } = snapshot.list(catalogServices, 'name', catalogEntry(partition, service));
    const bytes = length <= SMALL_SERVICE_INSTANCES ? 0 : serviceMessageBytes(snapshot, partition, service);
    return {
      Service: service,
      Instances: length,
      ...(bytes > MESSAGE_BYTES_MAX && { TooLarge: { Bytes: bytes, Limit: MESSAGE_BYTES_MAX } }),
    };
  });
}
