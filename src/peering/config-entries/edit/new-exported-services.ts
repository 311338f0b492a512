/** An `exported-services` entry from what somebody wrote. Rules: services-decisions. */
import { partitionKey } from '../../../credentials/partition.ts';
import { type Consumer, type ExportLine, WILDCARD } from '../config-entry.ts';
import { isNeverExported } from '../exported-services.ts';
import { checkPartitionAt, checkPeerNameAt, checkServiceName, type Surroundings, wrongAt } from './check-names.ts';
import type { ExportedServicesBody } from './entry-body.ts';

type Line = ExportedServicesBody['Services'][number];

/** There is one entry a partition, and it has that name. @throws ServiceError `bad-request` */
export function checkExportedServicesName(name: string, partition: string): void {
  if (partitionKey(name) === partitionKey(partition)) return;
  throw wrongAt('Name', `an exported-services entry has the name of its partition: want "${partition}", got "${name}"`);
}

/** @throws ServiceError `bad-request`, beginning with the place of what is wrong */
export function newExportLines(services: readonly Line[], surroundings: Surroundings): readonly ExportLine[] {
  return services.map(({ Name, Consumers }, i) => {
    const place = `Services[${i}]`;
    checkServiceName(place, Name);
    if (isNeverExported(Name)) throw wrongAt(place, `service "${Name}" is never exported: every cluster has its own`);
    if (Consumers.length === 0) throw wrongAt(place, 'must have at least one consumer');
    const consumers = Consumers.map((given, j) => newConsumer(`${place}.Consumers[${j}]`, given, surroundings));
    return { name: Name, consumers };
  });
}

function newConsumer(
  place: string,
  { Peer = '', Partition = '' }: Line['Consumers'][number],
  surroundings: Surroundings,
): Consumer {
  if (Peer !== '' && Partition !== '') throw wrongAt(place, 'must define at most one of Peer or Partition');
  if (Peer === WILDCARD) throw wrongAt(place, 'exporting to all peers (wildcard) is not supported');
  if (Partition === WILDCARD) throw wrongAt(place, 'exporting to all partitions (wildcard) is not supported');
  if (Peer !== '') {
    checkPeerNameAt(place, Peer);
    return { peer: Peer };
  }
  if (Partition === '') throw wrongAt(place, 'must define a Peer or a Partition');
  checkPartitionAt(place, Partition, surroundings);
  return { partition: Partition };
}
