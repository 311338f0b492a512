/**
 * Access that somebody really has on a workspace: for each attribute the highest of what the permissions of their teams
 * in the organization and the rows of their teams on the workspace give, and which of them gave it. Pure.
 */
import {
  type Access,
  type AccessLevel,
  ATTRIBUTE_NAMES,
  type AttributeName,
  type Attributes,
  attributesOf,
  type FixedLevel,
  IMPLIED,
  rankOf,
} from '../tables/access.ts';
import { levelOn, type OrganizationPermission } from '../tables/organization-access.ts';

/** Where access comes from. */
export type Source =
  /** Owning the organization, by being in its `owners` team or with a token that acts for it (no team). */
  | { readonly kind: 'owner'; readonly teamId: string | undefined }
  | { readonly kind: 'organization-permission'; readonly teamId: string; readonly permission: OrganizationPermission }
  | {
      readonly kind: 'team-workspace';
      readonly teamId: string;
      readonly id: string;
      /** Milliseconds since 1970 at which the row ends; absent: never. */
      readonly expiresAtMs?: number;
    };

/** What one source gives. */
export interface Contribution {
  readonly source: Source;
  readonly access: Access;
}

/** What all sources give together. */
export interface Effective {
  /** `admin` only where a source is admin; else the level that gives exactly these attributes; else `custom`. */
  readonly access: AccessLevel;
  readonly attributes: Attributes;
}

/** An attribute, or being admin, with every source that gives as much as the highest. */
export interface Explained {
  readonly name: AttributeName | 'admin';
  readonly value: string | boolean;
  readonly sources: readonly Source[];
}

const FIXED_BELOW_ADMIN: readonly FixedLevel[] = ['read', 'plan', 'write'];
/** What whoever is admin by anything has. */
export const ADMIN: Effective = { access: 'admin', attributes: IMPLIED.admin };

/** What owning the organization gives. */
export const ownerContribution = (teamId: string | undefined): Contribution => ({
  source: { kind: 'owner', teamId },
  access: { access: 'admin' },
});

/** What the organization permissions of a team give on every workspace. */
export function permissionContributions(teamId: string, given: readonly OrganizationPermission[]): Contribution[] {
  const contributions: Contribution[] = [];
  for (const permission of given) {
    const access = levelOn(permission);
    if (access === undefined) continue;
    contributions.push({ source: { kind: 'organization-permission', teamId, permission }, access: { access } });
  }
  return contributions;
}

/** The decision; `undefined` where nothing gives any access: the workspace does not exist for them. */
export function effectiveAccess(contributions: readonly Contribution[]): Effective | undefined {
  const [first, ...rest] = contributions;
  if (first === undefined) return undefined;
  if (contributions.some(({ access }) => access.access === 'admin')) return ADMIN;
  if (rest.length === 0) return { access: first.access.access, attributes: attributesOf(first.access) };
  const highest: Record<string, string | boolean> = { ...attributesOf(first.access) };
  for (const { access } of rest) {
    const attributes = attributesOf(access);
    for (const name of ATTRIBUTE_NAMES) {
      if (rankOf(name, attributes[name]) > rankOf(name, highest[name])) highest[name] = attributes[name];
    }
  }
  // Every value was taken from an attribute of the same name.
  const attributes = highest as Attributes;
  return { access: levelGiving(attributes), attributes };
}

/** Which sources the decision comes from, for each attribute and for being admin; empty without access. */
export function explainAccess(contributions: readonly Contribution[]): readonly Explained[] {
  const decision = effectiveAccess(contributions);
  if (decision === undefined) return [];
  const sourcesOf = (gives: (access: Access) => boolean): readonly Source[] =>
    contributions.filter(({ access }) => gives(access)).map(({ source }) => source);
  const explained: Explained[] = ATTRIBUTE_NAMES.map((name) => ({
    name,
    value: decision.attributes[name],
    sources: sourcesOf((access) => attributesOf(access)[name] === decision.attributes[name]),
  }));
  if (decision.access !== 'admin') return explained;
  return [{ name: 'admin', value: true, sources: sourcesOf(({ access }) => access === 'admin') }, ...explained];
}

function levelGiving(attributes: Attributes): AccessLevel {
  const gives = (level: FixedLevel): boolean =>
    ATTRIBUTE_NAMES.every((name) => IMPLIED[level][name] === attributes[name]);
  return FIXED_BELOW_ADMIN.find(gives) ?? 'custom';
}
