/** Validates the parts of an `exported-services` entry ([SVC-71] to [SVC-74]). */
import { partitionKey } from '../../../credentials/partition.ts';
import { mapInSlices, type Steps } from '../../../state/clock/slices.ts';
import { type Consumer, type ExportRule, WILDCARD } from '../config-entry.ts';
import { isNeverExported } from '../exported-services.ts';
import {
  checkPartitionAt,
  checkPeerNameAt,
  checkServiceName,
  invalidAt,
  type ValidationContext,
} from './check-names.ts';
import type { ExportedServicesBody } from './entry-body.ts';

type Line = ExportedServicesBody['Services'][number];

/** Checks that the entry has the name of its partition ([SVC-71]). @throws ServiceError `bad-request` */
export function checkExportedServicesName(name: string, partition: string): void {
  if (partitionKey(name) === partitionKey(partition)) return;
  throw invalidAt(
    'Name',
    `an exported-services entry has the name of its partition: want "${partition}", got "${name}"`,
  );
}

/** @throws ServiceError `bad-request`, beginning with the path of the invalid field */
export function* newExportLines(
  services: readonly Line[],
  surroundings: ValidationContext,
): Steps<readonly ExportRule[]> {
  return yield* mapInSlices(services.entries(), ([i, { Name, Consumers }]) => {
    const place = `Services[${i}]`;
    checkServiceName(place, Name);
    if (isNeverExported(Name)) throw invalidAt(place, `service "${Name}" is never exported: every cluster has its own`);
    if (Consumers.length === 0) throw invalidAt(place, 'must have at least one consumer');
    const consumers = Consumers.map((given, j) => newConsumer(`${place}.Consumers[${j}]`, given, surroundings));
    return { name: Name, consumers };
  });
}

function newConsumer(
  place: string,
  { Peer = '', Partition = '' }: Line['Consumers'][number],
  surroundings: ValidationContext,
): Consumer {
  if (Peer !== '' && Partition !== '') throw invalidAt(place, 'must define at most one of Peer or Partition');
  if (Peer === WILDCARD) throw invalidAt(place, 'exporting to all peers (wildcard) is not supported');
  if (Partition === WILDCARD) throw invalidAt(place, 'exporting to all partitions (wildcard) is not supported');
  if (Peer !== '') {
    checkPeerNameAt(place, Peer);
    return { peer: Peer };
  }
  if (Partition === '') throw invalidAt(place, 'must define a Peer or a Partition');
  checkPartitionAt(place, Partition, surroundings);
  return { partition: Partition };
}
