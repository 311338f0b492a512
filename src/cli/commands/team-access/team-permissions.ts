/** What teams may do in their whole organization, as commands give and show it. */
import { CommandError } from '../../errors.ts';
import type { Resource } from './api.ts';
import type { TeamAttributes } from './references.ts';

/** The options that give and take permissions. */
export interface PermissionOptions {
  readonly allow?: readonly string[];
  readonly forbid?: readonly string[];
}

/** Those that are given one way or the other; `undefined`: nothing is said of any. */
export function permissionsIn({
  allow = [],
  forbid = [],
}: PermissionOptions): Readonly<Record<string, boolean>> | undefined {
  const given = [
    ...allow.map((name): [string, boolean] => [name, true]),
    ...forbid.map((name): [string, boolean] => [name, false]),
  ];
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

/**
 * Refuses names that no permission has: the API takes no notice of them, so a mistyped one would pass for done.
 * @param team any team, which has all names; `undefined` where none is seen
 * @throws CommandError `usage`
 */
export function requirePermissions(options: PermissionOptions, team: Resource<TeamAttributes> | undefined): void {
  if (team === undefined) return;
  const known = team.attributes['organization-access'];
  const unknown = Object.keys(permissionsIn(options) ?? {}).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  throw new CommandError('usage', `${JSON.stringify(unknown)} is no permission: want ${Object.keys(known).join(', ')}`);
}

/** Those that a team has. */
export const permissionsHeld = ({ attributes }: Resource<TeamAttributes>): readonly string[] =>
  Object.entries(attributes['organization-access'])
    .filter(([, held]) => held)
    .map(([name]) => name);
