/** Finds the entry that a request names, once the grant for that name is there: who lacks it learns nothing. */
import { authorize, type Caller } from '../../../credentials/caller.ts';
import type { Access } from '../../../credentials/grant.ts';
import { type Asked, type Credentials, locate } from '../../../credentials/operation.ts';
import { partitionKey } from '../../../credentials/partition.ts';
import { existingPartition } from '../../../credentials/request-partition.ts';
import { ServiceError } from '../../../http/errors.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import type { Stored } from '../../../state/table.ts';
import { type ConfigEntry, configEntries, entryKey, type Kind } from '../config-entry.ts';
import { checkServiceName } from '../edit/check-names.ts';

/** What a request is about. */
export interface WantedEntry {
  readonly asked: Asked;
  readonly kind: Kind;
  readonly name: string;
  readonly access: Access;
}

export interface FoundEntry {
  readonly caller: Caller;
  /** As it was first named. */
  readonly partition: string;
  /** Of the entry's row, there or not. */
  readonly key: string;
  readonly stored: Stored<ConfigEntry> | undefined;
}

/** @throws ServiceError `bad-request` | `permission-denied` */
export function findEntry(credentials: Credentials, reader: Reader, wanted: WantedEntry): FoundEntry {
  const { asked, kind, name, access } = wanted;
  checkServiceName('Name', name);
  const { caller, partition: located } = locate(credentials, reader, naming(credentials, asked, kind, name));
  authorize(caller, { resource: 'config', access, partition: located, name });
  const partition = existingPartition(reader, located);
  const key = entryKey(partition, kind, name);
  return { caller, partition, key, stored: reader.get(configEntries, key) };
}

/**
 * The name of an exported-services entry is that of its partition: one more place where a request names it, which must
 * agree with the others.
 */
function naming({ edition }: Credentials, asked: Asked, kind: Kind, name: string): Asked {
  if (kind !== 'exported-services' || edition === 'community') return asked;
  const { body } = asked.partitions;
  if (body !== undefined && body !== '' && partitionKey(body) !== partitionKey(name)) {
    throw new ServiceError('bad-request', `the request names two partitions, "${body}" and "${name}": want one`);
  }
  return { ...asked, partitions: { ...asked.partitions, body: name } };
}

/** The refusal for an entry that is not there. */
export const entryNotFound = (kind: Kind, name: string): ServiceError =>
  new ServiceError('not-found', `Config entry not found for "${kind}" / "${name}"`);
