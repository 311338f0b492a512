/** Validates a body, converts it to an entry, and warns about missing peers. */
import { permits } from '../../../credentials/acl-token.ts';
import type { Caller } from '../../../credentials/caller.ts';
import { partitionKey } from '../../../credentials/partition.ts';
import type { Steps } from '../../../state/clock/slices.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import { checkMeta } from '../../record/meta.ts';
import { nameEntry, peerings } from '../../record/record.ts';
import { type ConfigEntry, nameKey } from '../config-entry.ts';
import { peersOf } from '../exported-services.ts';
import { WARNED_PEERS_MAX } from '../limits.ts';
import { checkServiceName, type ValidationContext } from './check-names.ts';
import type { NamedBody } from './entry-body.ts';
import { checkExportedServicesName, newExportLines } from './new-exported-services.ts';
import { newSources } from './new-service-intentions.ts';

/** Returns the entry of a body. @throws ServiceError `bad-request`, beginning with the path of the invalid field */
export function* newEntry(body: NamedBody, partition: string, surroundings: ValidationContext): Steps<ConfigEntry> {
  checkMeta(body.Meta);
  const meta = body.Meta ?? {};
  if (body.Kind === 'exported-services') {
    checkExportedServicesName(body.Name, partition);
    const services = yield* newExportLines(body.Services, surroundings);
    return { kind: body.Kind, name: partition, partition, services, meta };
  }
  checkServiceName('Name', body.Name);
  const sources = yield* newSources(body.Sources, partition, surroundings);
  return { kind: body.Kind, name: body.Name, partition, sources, meta };
}

function namedPeers(entry: DeepReadonly<ConfigEntry>): readonly string[] {
  if (entry.kind === 'exported-services') return peersOf(entry);
  const names = new Map<string, string>();
  for (const { peer } of entry.sources) {
    if (peer !== undefined && !names.has(nameKey(peer))) names.set(nameKey(peer), peer);
  }
  return [...names].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, name]) => name);
}

/** Returns a warning about named peers without a peering ([SVC-68]), or undefined. */
export function missingPeersWarning(
  reader: Reader,
  caller: Caller,
  entry: DeepReadonly<ConfigEntry>,
): string | undefined {
  const { partition } = entry;
  const missing = namedPeers(entry).filter(
    (name) =>
      permits(caller.grants, { resource: 'peering', access: 'read', partition, name }) &&
      reader.find(peerings, 'name', nameEntry(partition, name)) === undefined,
  );
  if (missing.length === 0) return undefined;
  const named = missing.slice(0, WARNED_PEERS_MAX).map((name) => `"${name}"`);
  const more = missing.length - named.length;
  return `${missing.length === 1 ? 'peer' : 'peers'} ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''} ${
    missing.length === 1 ? 'does' : 'do'
  } not exist yet`;
}

/** Whether two entries are equivalent, so that replacing one with the other changes nothing ([SVC-64]). */
export function isSameEntry(a: DeepReadonly<ConfigEntry>, b: DeepReadonly<ConfigEntry>): boolean {
  return JSON.stringify(inOrder(a)) === JSON.stringify(inOrder(b));
}

const inOrder = ({ meta, ...entry }: DeepReadonly<ConfigEntry>): unknown => ({
  ...entry,
  partition: partitionKey(entry.partition),
  meta: Object.entries(meta).sort(([a], [b]) => (a < b ? -1 : 1)),
});
