/** `GET /v1/peering/:name/imported-services`: the services imported from the peer ([SVC-82]). A blocking query. */
import { type Static, Type } from 'typebox';
import type { RequestContext } from '../../credentials/caller.ts';
import type { Evaluate } from '../../http/blocking/blocking-query.ts';
import { jsonList } from '../../http/v1/json-answer.ts';
import { mapInSlices, type Steps, sortInSlices } from '../../state/clock/slices.ts';
import { LIST_ELEMENT_BYTES } from '../../state/limits.ts';
import { listInSlices } from '../../state/memory/reader.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import { importProblems } from '../catalog/tables/import-problem.ts';
import { importedServiceKey, importedServices } from '../catalog/tables/imported-service.ts';
import { peeringQuery } from '../find/find-peering.ts';
import type { PeeringService } from '../peering-context.ts';

const importedSchema = Type.Object(
  {
    Service: Type.String(),
    Instances: Type.Integer({
      minimum: 0,
      description: 'The instances in the catalog. With Refused, those of the last accepted version.',
    }),
    Refused: Type.Optional(
      Type.Object(
        { Reason: Type.String(), Since: Type.String({ format: 'date-time' }) },
        { description: 'Why the last version that the peer sent was rejected. The peer received the reason.' },
      ),
    ),
  },
  { title: 'PeeringImportedService' },
);
type Imported = Readonly<Static<typeof importedSchema>>;

export const peeringImportsSchema = Type.Array(importedSchema);

/** Returns the peer's listed services and those imported or rejected, by name. @throws ServiceError `bad-request` */
export function readPeeringImports(service: PeeringService, context: RequestContext, name: string): Evaluate {
  const { state } = service.credentials;
  return peeringQuery(service, { context, name, access: 'read' }, ({ row: { id, imported } }, snapshot) => ({
    alsoWatched: [state.watchEntry(importedServices, 'peering', id), state.watchEntry(importProblems, 'peering', id)],
    *longBody() {
      const services = yield* snapshot.memoizeInSlices(
        `imported services\0${id}`,
        () => importedFrom(snapshot, id, imported),
        ({ length }) => length * LIST_ELEMENT_BYTES,
      );
      return { json: yield* jsonList(services, (one) => JSON.stringify(one)) };
    },
  }));
}

function* importedFrom(snapshot: Snapshot, id: string, named: readonly string[]): Steps<readonly Imported[]> {
  const services = yield* listInSlices(snapshot, importedServices, 'peering', id);
  const problems = yield* listInSlices(snapshot, importProblems, 'peering', id);
  const names = new Map<string, string>();
  for (const service of [
    ...named,
    ...services.map(({ row }) => row.service),
    ...problems.map(({ row }) => row.service),
  ]) {
    names.set(importedServiceKey(id, service), service);
  }
  const sorted = yield* sortInSlices([...names], ([a], [b]) => (a < b ? -1 : 1));
  return yield* mapInSlices(sorted, ([key, service]): Imported => {
    const problem = snapshot.get(importProblems, key)?.row;
    return {
      Service: service,
      Instances: snapshot.get(importedServices, key)?.row.instances.length ?? 0,
      ...(problem && { Refused: { Reason: problem.reason, Since: problem.since } }),
    };
  });
}
