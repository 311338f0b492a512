/** Names of peers: DNS labels, because other clusters' services are looked up by them. */
import { ServiceError } from '../../http/errors.ts';

const LABEL = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/** Refuses what cannot be the name of a peering. @throws ServiceError `bad-request` */
export function checkPeerName(name: string): void {
  if (!LABEL.test(name)) throw invalidName(name, 'alphanumeric');
}

/**
 * The same for the name of one that is to be.
 * @param consul `compat = consul`: names are lower case only
 * @throws ServiceError `bad-request`
 */
export function checkNewPeerName(name: string, consul: boolean): void {
  const valid = LABEL.test(name) && !(consul && name !== name.toLowerCase());
  if (!valid) throw invalidName(name, consul ? 'lower case alphanumeric' : 'alphanumeric');
}

function invalidName(name: string, characters: string): ServiceError {
  return new ServiceError(
    'bad-request',
    `${name} is not a valid peer name: a valid peering name must consist of ${characters} characters or '-', must start and end with an alphanumeric character, and be at most 63 characters long`,
  );
}
