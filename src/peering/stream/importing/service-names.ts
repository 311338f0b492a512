/** Validates the service names that a peer sends ([STREAM-65]). */
import { Code } from '@connectrpc/connect';
import { isNeverExported } from '../../config-entries/exported-services.ts';
import { DNS_NAME_CHARACTERS_MAX, IMPORTED_NAMES_CHARACTERS_MAX, IMPORTED_SERVICES_MAX } from '../../limits.ts';
import { ApplyRefused } from '../contract.ts';

/**
 * Returns the names, sorted and unique, without reserved ones ([STREAM-98]): a cluster that exports everything may have
 * registered such a service, and its other services are accepted.
 * @throws ApplyRefused for an invalid name, or too many ([STREAM-66])
 */
export function checkServiceNames(listed: readonly string[]): readonly string[] {
  const names = [...new Set(listed)].sort();
  const characters = names.reduce((sum, name) => sum + name.length, 0);
  if (names.length > IMPORTED_SERVICES_MAX || characters > IMPORTED_NAMES_CHARACTERS_MAX) {
    const text = `the list names ${names.length} services in ${characters} characters`;
    const wanted = `at most ${IMPORTED_SERVICES_MAX} in ${IMPORTED_NAMES_CHARACTERS_MAX} are accepted from a peer`;
    throw new ApplyRefused(Code.ResourceExhausted, `${text}: ${wanted}`);
  }
  names.forEach(checkValid);
  return names.filter((name) => !isNeverExported(name));
}

/** Matches an empty name, and control characters and line separators anywhere in a name. */
const INVALID_NAME = /^$|[\p{Cc}\p{Zl}\p{Zp}]/u;

export const isValidServiceName = (name: string): boolean =>
  !INVALID_NAME.test(name) && name.length <= DNS_NAME_CHARACTERS_MAX;

/** @throws ApplyRefused for an invalid or reserved name */
export function checkServiceName(name: string): void {
  checkValid(name);
  if (!isNeverExported(name)) return;
  const reason = 'every cluster has a service of its own with this name';
  throw new ApplyRefused(Code.InvalidArgument, `service "${name}" is not imported: ${reason}`);
}

function checkValid(name: string): void {
  if (isValidServiceName(name)) return;
  const wanted = `want 1 to ${DNS_NAME_CHARACTERS_MAX} characters, none of them a control character`;
  const shown = JSON.stringify(name.slice(0, 64));
  throw new ApplyRefused(Code.InvalidArgument, `${shown} is not a service name: ${wanted}`);
}
