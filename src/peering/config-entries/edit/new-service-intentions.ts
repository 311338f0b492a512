/** Validates the sources of a `service-intentions` entry ([SVC-84], [SVC-85]). */
import { partitionKey } from '../../../credentials/partition.ts';
import { mapInSlices, type Steps } from '../../../state/clock/slices.ts';
import { type IntentionSource, nameKey } from '../config-entry.ts';
import {
  checkPartitionAt,
  checkPeerNameAt,
  checkServiceName,
  invalidAt,
  type ValidationContext,
} from './check-names.ts';
import type { ServiceIntentionsBody } from './entry-body.ts';

type Given = ServiceIntentionsBody['Sources'][number];

/**
 * @param partition the partition of the entry, and of sources that name none
 * @throws ServiceError `bad-request`, beginning with the path of the invalid field
 */
export function* newSources(
  given: readonly Given[],
  partition: string,
  surroundings: ValidationContext,
): Steps<readonly IntentionSource[]> {
  if (given.length === 0) throw invalidAt('Sources', 'at least one source is required');
  const seen = new Set<string>();
  return yield* mapInSlices(given.entries(), ([i, one]) => {
    const place = `Sources[${i}]`;
    const source = newSource(place, one, surroundings);
    const key = [source.name, source.peer ?? '', partitionKey(source.partition ?? partition)].map(nameKey).join('/');
    if (seen.has(key)) throw invalidAt(place, `defines ${describeSource(source)} more than once`);
    seen.add(key);
    return source;
  });
}

function newSource(
  place: string,
  { Name, Peer = '', Partition = '', Action, Description = '' }: Given,
  surroundings: ValidationContext,
): IntentionSource {
  checkServiceName(place, Name);
  if (Peer.includes('*')) throw invalidAt(`${place}.Peer`, "cannot use wildcard '*' in peer");
  if (Partition.includes('*')) throw invalidAt(`${place}.Partition`, "cannot use wildcard '*' in partition");
  if (Peer !== '' && Partition !== '')
    throw invalidAt(`${place}.Peer`, 'cannot set Peer and Partition at the same time');
  if (Peer !== '') checkPeerNameAt(`${place}.Peer`, Peer);
  if (Partition !== '') checkPartitionAt(`${place}.Partition`, Partition, surroundings);
  return {
    name: Name,
    ...(Peer !== '' && { peer: Peer }),
    ...(Partition !== '' && { partition: Partition }),
    action: Action,
    description: Description,
  };
}

function describeSource({ name, peer, partition }: IntentionSource): string {
  if (peer !== undefined) return `"${name}" of peer "${peer}"`;
  return partition === undefined ? `"${name}"` : `"${name}" of partition "${partition}"`;
}
