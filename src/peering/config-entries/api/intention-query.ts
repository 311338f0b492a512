/** The query parameters of the intention endpoints. */
import { Type } from 'typebox';
import {
  DEFAULT_PARTITION,
  type Edition,
  invalidPartitionText,
  isPartitionName,
  partitionKey,
} from '../../../credentials/partition.ts';
import type { Query } from '../../../http/call.ts';
import { ServiceError } from '../../../http/errors.ts';
import type { Parameter } from '../../../http/parameter.ts';
import { checkPeerNameAt, checkServiceName, PARTITIONS_ARE_ENTERPRISE } from '../edit/check-names.ts';
import type { CallSource } from '../intentions.ts';

const required = (name: string, description: string): Parameter => ({
  name,
  description: `Required. ${description}`,
  schema: Type.String(),
});

const SOURCE = required('source', 'The service that calls.');
const DESTINATION = required('destination', 'The service that is called, in the partition of the request.');
export const SOURCE_PEER: Parameter = {
  name: 'source-peer',
  description: 'The peer of the source. Absent: this cluster.',
  schema: Type.String(),
};
export const SOURCE_PARTITION: Parameter = {
  name: 'source-partition',
  description: 'The partition of a local source. Defaults to that of the destination.',
  schema: Type.String(),
};

export const SERVICE_CALL: readonly Parameter[] = [SOURCE, SOURCE_PEER, SOURCE_PARTITION, DESTINATION];

/** Reads the source and destination of a call. @throws ServiceError `bad-request` */
export function readServiceCall(query: Query, edition: Edition): CallSource & { readonly destination: string } {
  const source = readName(query, SOURCE.name);
  const destination = readName(query, DESTINATION.name);
  return { ...readCallSource(query, source, edition), destination };
}

/** Reads the peer or partition of a source. @throws ServiceError `bad-request` */
export function readCallSource(query: Query, source: string, edition: Edition): CallSource {
  const sourcePeer = query.get(SOURCE_PEER.name) || undefined;
  const sourcePartition = query.get(SOURCE_PARTITION.name) || undefined;
  if (sourcePeer !== undefined) checkPeerNameAt(SOURCE_PEER.name, sourcePeer);
  if (sourcePartition !== undefined) checkPartition(sourcePartition, edition);
  if (sourcePeer !== undefined && sourcePartition !== undefined) {
    const text = `${SOURCE_PEER.name} and ${SOURCE_PARTITION.name}: want at most one, a peer's partitions are its own`;
    throw new ServiceError('bad-request', text);
  }
  return { source, sourcePeer, sourcePartition };
}

/** Reads a required service name or `*`. @throws ServiceError `bad-request` */
function readName(query: Query, name: string): string {
  const value = query.get(name) ?? '';
  if (value === '') throw new ServiceError('bad-request', `required query parameter '${name}' not set`);
  checkServiceName(name, value);
  return value;
}

function checkPartition(name: string, edition: Edition): void {
  if (edition === 'community' && partitionKey(name) !== DEFAULT_PARTITION) {
    const text = `Invalid query parameter: "${SOURCE_PARTITION.name}" - ${PARTITIONS_ARE_ENTERPRISE}`;
    throw new ServiceError('bad-request', text);
  }
  if (!isPartitionName(name)) throw new ServiceError('bad-request', invalidPartitionText(name));
}
