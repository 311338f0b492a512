/**
 * Effective access: for each attribute, the highest value from the organization permissions of all teams and from their
 * rows on the workspace, with the sources that grant it.
 */

import { mapInSlices, type Steps } from '../../state/clock/slices.ts';
import { type OrganizationPermission, READS_RUNS, withImplied } from '../tables/organization-access.ts';
import {
  type Access,
  type AccessLevel,
  ATTRIBUTE_NAMES,
  type AttributeName,
  type Attributes,
  attributesOf,
  createAccess,
  type FixedLevel,
  LEVEL_ATTRIBUTES,
  rankOf,
} from '../tables/team-workspace.ts';

export type AccessSource =
  /** Ownership of the organization: through the `owners` team, or without a team through the organization's token. */
  | { readonly kind: 'owner'; readonly teamId: string | undefined }
  | { readonly kind: 'organization-permission'; readonly teamId: string; readonly permission: OrganizationPermission }
  | {
      readonly kind: 'team-workspace';
      readonly teamId: string;
      readonly id: string;
      /** Time at which the row expires, in milliseconds since 1970. */
      readonly expiresAtMs?: number;
    };

export interface Contribution {
  readonly source: AccessSource;
  readonly access: Access;
}

export interface EffectiveAccess {
  /** `admin` only if a source is admin. Otherwise the fixed level with exactly these attributes, or `custom`. */
  readonly access: AccessLevel;
  readonly attributes: Attributes;
}

/** An attribute, or `admin`, with all sources that grant the effective value. */
export interface ExplainedAttribute {
  readonly name: AttributeName | 'admin';
  readonly value: string | boolean;
  readonly sources: readonly AccessSource[];
}

const FIXED_BELOW_ADMIN: readonly FixedLevel[] = ['read', 'plan', 'write'];
export const ADMIN_ACCESS: EffectiveAccess = { access: 'admin', attributes: LEVEL_ATTRIBUTES.admin };

export const ownerContribution = (teamId: string | undefined): Contribution => ({
  source: { kind: 'owner', teamId },
  access: { access: 'admin' },
});

/** Returns the access that one permission grants on every workspace of the organization. */
function accessGrantedBy(permission: OrganizationPermission): Access | undefined {
  const held = withImplied([permission]);
  if (held.has('manage-workspaces')) return createAccess('admin', {});
  if (held.has('read-workspaces')) return createAccess('read', {});
  return READS_RUNS.has(permission) ? createAccess('custom', {}) : undefined;
}

/** Returns the access that a team's organization permissions grant on every workspace. */
export function permissionContributions(
  teamId: string,
  permissions: readonly OrganizationPermission[],
): Contribution[] {
  const contributions: Contribution[] = [];
  for (const permission of permissions) {
    const access = accessGrantedBy(permission);
    if (access === undefined) continue;
    contributions.push({ source: { kind: 'organization-permission', teamId, permission }, access });
  }
  return contributions;
}

/**
 * Returns the effective access, or `undefined` without contributions: then the workspace does not exist for the caller.
 */
export function effectiveAccess(contributions: readonly Contribution[]): EffectiveAccess | undefined {
  const [first, ...rest] = contributions;
  if (first === undefined) return undefined;
  if (contributions.some(({ access }) => access.access === 'admin')) return ADMIN_ACCESS;
  if (rest.length === 0) return { access: first.access.access, attributes: attributesOf(first.access) };
  const highest: Record<string, string | boolean> = { ...attributesOf(first.access) };
  for (const { access } of rest) {
    const attributes = attributesOf(access);
    for (const name of ATTRIBUTE_NAMES) {
      if (rankOf(name, attributes[name]) > rankOf(name, highest[name])) highest[name] = attributes[name];
    }
  }
  // Each value comes from an attribute of the same name.
  const attributes = highest as Attributes;
  return { access: levelWithAttributes(attributes), attributes };
}

/** Returns the sources of each attribute of the effective access, and of `admin`. Empty without access. */
export function* explainAccess(contributions: readonly Contribution[]): Steps<readonly ExplainedAttribute[]> {
  const effective = effectiveAccess(contributions);
  if (effective === undefined) return [];
  const sourcesWhere = (grants: (access: Access) => boolean): readonly AccessSource[] =>
    contributions.filter(({ access }) => grants(access)).map(({ source }) => source);
  const explained = yield* mapInSlices(
    ATTRIBUTE_NAMES,
    (name): ExplainedAttribute => ({
      name,
      value: effective.attributes[name],
      sources: sourcesWhere((access) => attributesOf(access)[name] === effective.attributes[name]),
    }),
  );
  if (effective.access !== 'admin') return explained;
  return [{ name: 'admin', value: true, sources: sourcesWhere(({ access }) => access === 'admin') }, ...explained];
}

function levelWithAttributes(attributes: Attributes): AccessLevel {
  const gives = (level: FixedLevel): boolean =>
    ATTRIBUTE_NAMES.every((name) => LEVEL_ATTRIBUTES[level][name] === attributes[name]);
  return FIXED_BELOW_ADMIN.find(gives) ?? 'custom';
}
