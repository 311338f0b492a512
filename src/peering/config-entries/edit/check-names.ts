/** Validates the names of services, peers and partitions in an entry. Every error begins with its place ([SVC-66]). */
import { permitsAnyName } from '../../../credentials/acl-token.ts';
import type { Caller } from '../../../credentials/caller.ts';
import {
  DEFAULT_PARTITION,
  type Edition,
  invalidPartitionText,
  isPartitionName,
  partitionKey,
  partitions,
} from '../../../credentials/partition.ts';
import { ServiceError } from '../../../http/errors.ts';
import { QUOTED_LENGTH_MAX } from '../../../http/limits.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import { DNS_NAME_CHARACTERS_MAX } from '../../limits.ts';
import { checkPeerName } from '../../record/record.ts';
import { WILDCARD } from '../config-entry.ts';

export interface ValidationContext {
  readonly reader: Reader;
  readonly edition: Edition;
  readonly caller: Caller;
}

/** Returns the error for a value at a place such as `Services[0].Consumers[1]`. */
export const invalidAt = (place: string, text: string): ServiceError =>
  new ServiceError('bad-request', `${place}: ${text}`);

/** The error of the community edition for a partition ([ACL-54]). */
export const PARTITIONS_ARE_ENTERPRISE = 'Partitions are an Accord Enterprise feature';

const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** Checks the name of a service, or `*` ([SVC-69]). @throws ServiceError `bad-request` */
export function checkServiceName(place: string, name: string): void {
  if (name === WILDCARD) return;
  if (name === '') throw invalidAt(place, 'service name cannot be empty');
  const quoted = JSON.stringify(name.slice(0, QUOTED_LENGTH_MAX));
  if (name.includes(WILDCARD)) {
    throw invalidAt(place, `service name ${quoted}: wildcard character '*' cannot be used with partial values`);
  }
  if (UNPRINTABLE.test(name) || name.length > DNS_NAME_CHARACTERS_MAX) {
    const wanted = `want 1 to ${DNS_NAME_CHARACTERS_MAX} characters, none of them a control character`;
    throw invalidAt(place, `service name ${quoted}: ${wanted}`);
  }
}

/** Checks the syntax of a peering's name. The peering need not exist. @throws ServiceError `bad-request` */
export function checkPeerNameAt(place: string, name: string): void {
  try {
    checkPeerName(name);
  } catch (error) {
    throw error instanceof ServiceError ? invalidAt(place, error.message) : error;
  }
}

/**
 * Checks the syntax of a partition's name, and that the partition exists if the caller may read some entry there. Other
 * callers must not learn which partitions exist ([SVC-114]). @throws ServiceError `bad-request`
 */
export function checkPartitionAt(place: string, name: string, { reader, edition, caller }: ValidationContext): void {
  const key = partitionKey(name);
  if (edition === 'community' && key !== DEFAULT_PARTITION) {
    throw invalidAt(place, PARTITIONS_ARE_ENTERPRISE);
  }
  if (!isPartitionName(name)) throw invalidAt(place, invalidPartitionText(name));
  if (!permitsAnyName(caller.grants, 'config', 'read', name)) return;
  if (reader.get(partitions, key) === undefined) throw invalidAt(place, `partition "${name}" does not exist`);
}
