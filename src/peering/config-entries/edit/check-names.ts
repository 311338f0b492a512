/** Names that an entry's rules give to services, peers and partitions. Every refusal begins with its place. */
import { DEFAULT_PARTITION, isPartitionName, partitionKey, partitions } from '../../../credentials/partition.ts';
import { type Edition, invalidPartitionText } from '../../../credentials/request-partition.ts';
import { ServiceError } from '../../../http/errors.ts';
import { QUOTED_LENGTH_MAX } from '../../../http/limits.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import { SERVICE_NAME_CHARACTERS_MAX } from '../../limits.ts';
import { checkPeerName } from '../../record/peer-name.ts';
import { WILDCARD } from '../config-entry.ts';

/** What names are checked against. */
export interface Surroundings {
  readonly reader: Reader;
  readonly edition: Edition;
}

/** The refusal of what stands at a place, such as `Services[0].Consumers[1]`. */
export const wrongAt = (place: string, text: string): ServiceError =>
  new ServiceError('bad-request', `${place}: ${text}`);

/** With what the community edition refuses one. */
export const PARTITIONS_ARE_ENTERPRISE = 'Partitions are an Accord Enterprise feature';

/** No name of a service anywhere: such characters could not be shown, or asked for. */
const UNUSABLE = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** One service's name, or `*`. @throws ServiceError `bad-request` */
export function checkServiceName(place: string, name: string): void {
  if (name === WILDCARD) return;
  if (name === '') throw wrongAt(place, 'service name cannot be empty');
  const quoted = JSON.stringify(name.slice(0, QUOTED_LENGTH_MAX));
  if (name.includes(WILDCARD)) {
    throw wrongAt(place, `service name ${quoted}: wildcard character '*' cannot be used with partial values`);
  }
  if (UNUSABLE.test(name) || name.length > SERVICE_NAME_CHARACTERS_MAX) {
    const wanted = `want 1 to ${SERVICE_NAME_CHARACTERS_MAX} characters, none of them a control character`;
    throw wrongAt(place, `service name ${quoted}: ${wanted}`);
  }
}

/** The name of a peering, which need not be there yet. @throws ServiceError `bad-request` */
export function checkPeerNameAt(place: string, name: string): void {
  try {
    checkPeerName(name);
  } catch (error) {
    throw error instanceof ServiceError ? wrongAt(place, error.message) : error;
  }
}

/** A partition, which must be there. @throws ServiceError `bad-request` */
export function checkPartitionAt(place: string, name: string, { reader, edition }: Surroundings): void {
  const key = partitionKey(name);
  if (edition === 'community' && key !== DEFAULT_PARTITION) {
    throw wrongAt(place, PARTITIONS_ARE_ENTERPRISE);
  }
  if (!isPartitionName(name)) throw wrongAt(place, invalidPartitionText(name));
  if (reader.get(partitions, key) === undefined) throw wrongAt(place, `partition "${name}" does not exist`);
}
