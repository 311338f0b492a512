/** The names of services that a peer tells: those that can be kept, shown and searched for. */
import { Code } from '@connectrpc/connect';
import { IMPORTED_NAMES_CHARACTERS_MAX, IMPORTED_SERVICES_MAX, SERVICE_NAME_CHARACTERS_MAX } from '../../limits.ts';
import { ApplyRefused } from '../contract.ts';

/** The names of a list, sorted, each once. @throws ApplyRefused when one is none, or there are too many */
export function serviceNames(listed: readonly string[]): readonly string[] {
  const names = [...new Set(listed)].sort();
  const characters = names.reduce((sum, name) => sum + name.length, 0);
  if (names.length > IMPORTED_SERVICES_MAX || characters > IMPORTED_NAMES_CHARACTERS_MAX) {
    const text = `the list names ${names.length} services in ${characters} characters`;
    const wanted = `at most ${IMPORTED_SERVICES_MAX} in ${IMPORTED_NAMES_CHARACTERS_MAX} are taken from a peer`;
    throw new ApplyRefused(Code.ResourceExhausted, `${text}: ${wanted}`);
  }
  names.forEach(usableName);
  return names;
}

/** What cannot be the name of a service anywhere: it would be shown, and searched for. */
const UNUSABLE = /^$|[\p{Cc}\p{Zl}\p{Zp}]/u;

/** Whether it can be the name of a service. */
export const isUsableName = (name: string): boolean =>
  !UNUSABLE.test(name) && name.length <= SERVICE_NAME_CHARACTERS_MAX;

/** @throws ApplyRefused when it is no name */
export function usableName(name: string): void {
  if (isUsableName(name)) return;
  const wanted = `want 1 to ${SERVICE_NAME_CHARACTERS_MAX} characters, none of them a control character`;
  const shown = JSON.stringify(name.slice(0, 64));
  throw new ApplyRefused(Code.InvalidArgument, `${shown} is no name of a service: ${wanted}`);
}
