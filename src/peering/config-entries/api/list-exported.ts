/** `GET /v1/exported-services`: the exported services with their consumers ([SVC-76]). */
import { Type } from 'typebox';
import { permits } from '../../../credentials/acl-token.ts';
import {
  type Caller,
  type Credentials,
  permissionDenied,
  type RequestContext,
  resolveCaller,
  waitOptionsOf,
} from '../../../credentials/caller.ts';
import { ALL_PARTITIONS, partitionKey } from '../../../credentials/partition.ts';
import type { Evaluate } from '../../../http/blocking/blocking-query.ts';
import { jsonList } from '../../../http/v1/json-answer.ts';
import { type Steps, visitInSlices } from '../../../state/clock/slices.ts';
import { derivedFrom } from '../../../state/memory/derived-cache.ts';
import type { Snapshot } from '../../../state/memory/snapshot.ts';
import { localServiceNames } from '../../catalog/query/local-instances.ts';
import { resolveListScope, watchedScope } from '../../find/list-scope.ts';
import { type Consumers, consumersInEntry, exportedServicesEntry, watchedExports } from '../exported-services.ts';

export const exportedListSchema = Type.Array(
  Type.Object(
    {
      Service: Type.String(),
      Partition: Type.String(),
      Consumers: Type.Object({
        Peers: Type.Optional(Type.Array(Type.String())),
        Partitions: Type.Optional(Type.Array(Type.String())),
      }),
    },
    { title: 'ExportedService' },
  ),
);

/** Lists the registered services with consumers, by partition, then by name. Requires `config:read` on the entry. */
export function listExported(credentials: Credentials, context: RequestContext): Evaluate {
  const { state } = credentials;
  return (snapshot) => {
    const { caller, partition } = resolveCaller(credentials, snapshot, context, true);
    const scope = resolveListScope(snapshot, caller, partition, 'config');
    const visible = scope.partitions.filter((name) => mayRead(caller, name));
    if (visible.length === 0) throw permissionDenied(caller, { resource: 'config', access: 'read' });
    return {
      ...waitOptionsOf(caller),
      watched: [
        ...watchedScope(credentials, caller, partition),
        ...visible.flatMap((name) => watchedExports(state, name)),
      ],
      filtered: partition === ALL_PARTITIONS && (scope.filtered || visible.length < scope.partitions.length),
      shareKey: visible.map(partitionKey).join('/'),
      *longBody() {
        const texts: string[] = [];
        for (const name of visible) yield* exportedTexts(snapshot, name, texts);
        return { json: yield* jsonList(texts, (text) => text) };
      },
    };
  };
}

const mayRead = (caller: Caller, partition: string): boolean =>
  permits(caller.grants, { resource: 'config', access: 'read', partition, name: partition });

/** Adds the texts of the exported services of a partition to `texts`. */
function* exportedTexts(snapshot: Snapshot, partition: string, texts: string[]): Steps<void> {
  const entry = exportedServicesEntry(snapshot, partition);
  if (entry === undefined) return;
  const rest = `","Partition":${JSON.stringify(partition)},"Consumers":`;
  yield* visitInSlices(yield* localServiceNames(snapshot, partition), (service) => {
    const text = consumersText(consumersInEntry(entry, service));
    if (text !== undefined) texts.push(`{"Service":${JSON.stringify(service).slice(0, -1)}${rest}${text}}`);
  });
}

/** Serializes shared consumers once, because most services share theirs when the entry has a line `*`. */
const consumersText = derivedFrom(({ peers: Peers, partitions: Partitions }: Consumers): string | undefined => {
  if (Peers.length === 0 && Partitions.length === 0) return undefined;
  return JSON.stringify({ ...(Peers.length > 0 && { Peers }), ...(Partitions.length > 0 && { Partitions }) });
});
