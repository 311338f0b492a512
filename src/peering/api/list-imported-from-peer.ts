/** `GET /v1/peering/:name/imported-services`: what came from the peer, and what could not be taken. Can wait. */
import { type Static, Type } from 'typebox';
import type { Asked } from '../../credentials/operation.ts';
import type { Evaluate } from '../../http/blocking/reads.ts';
import { MEMO_ENTRY_BYTES } from '../../state/limits.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import { importProblems } from '../catalog/tables/import-problem.ts';
import { importedServiceKey, importedServices } from '../catalog/tables/imported-service.ts';
import { readOfPeering } from '../find/peering-read.ts';
import type { PeeringService } from '../peering-context.ts';

const importedSchema = Type.Object(
  {
    Service: Type.String(),
    Instances: Type.Integer({ minimum: 0, description: 'Those that are there: of before, when it was refused since.' }),
    Refused: Type.Optional(
      Type.Object(
        { Reason: Type.String(), Since: Type.String({ format: 'date-time' }) },
        { description: 'What the peer last sent could not be taken; it has been told so.' },
      ),
    ),
  },
  { title: 'PeeringImportedService' },
);
type Imported = Readonly<Static<typeof importedSchema>>;

export const peeringImportsSchema = Type.Array(importedSchema);

/** By the name of the service: what the peer names, and what came of it. @throws ServiceError `bad-request` */
export function readPeeringImports(service: PeeringService, asked: Asked, name: string): Evaluate {
  const { state } = service.credentials;
  return readOfPeering(service, { asked, name, access: 'read' }, ({ row: { id, imported } }, snapshot) => ({
    alsoWatched: [state.watchEntry(importedServices, 'peering', id), state.watchEntry(importProblems, 'peering', id)],
    body: () =>
      snapshot.memo(
        `imported services\0${id}`,
        () => importedFrom(snapshot, id, imported),
        (services) => services.length * MEMO_ENTRY_BYTES,
      ),
  }));
}

function importedFrom(snapshot: Snapshot, id: string, named: readonly string[]): readonly Imported[] {
  const services = snapshot.list(importedServices, 'peering', id).map(({ row }) => row);
  const problems = snapshot.list(importProblems, 'peering', id).map(({ row }) => row);
  const names = new Map<string, string>();
  for (const service of [
    ...named,
    ...services.map(({ service }) => service),
    ...problems.map(({ service }) => service),
  ]) {
    names.set(importedServiceKey(id, service), service);
  }
  return [...names]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, service]) => {
      const problem = snapshot.get(importProblems, key)?.row;
      return {
        Service: service,
        Instances: snapshot.get(importedServices, key)?.row.instances.length ?? 0,
        ...(problem && { Refused: { Reason: problem.reason, Since: problem.since } }),
      };
    });
}
