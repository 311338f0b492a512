/** Syntax of peer names ([PEER-3]) and of the partition and datacenter names that another cluster sends. */
import { ServiceError } from '../../http/errors.ts';
import { DNS_NAME_CHARACTERS_MAX } from '../limits.ts';

/** A DNS label, because a peer's services are resolved as `<service>.service.<peer>.peer.<domain>`. */
const LABEL = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;

/** @throws ServiceError `bad-request` */
export function checkPeerName(name: string): void {
  if (!LABEL.test(name)) throw invalidName(name, 'alphanumeric');
}

/** Checks a new name. With `consul` it must be in lower case ([PEER-103]). @throws ServiceError `bad-request` */
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

/** The characters of partition and datacenter names in Accord and Consul. The empty name is valid. */
const REMOTE_NAME = new RegExp(`^[A-Za-z0-9._-]{0,${DNS_NAME_CHARACTERS_MAX}}$`);

export const isRemoteName = (name: string): boolean => REMOTE_NAME.test(name);

/** The accepted syntax, for error messages. */
export const REMOTE_NAME_WANTED = `at most ${DNS_NAME_CHARACTERS_MAX} letters, digits, '.', '-' or '_'`;
