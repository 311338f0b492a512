/** What a team may do in its whole organization: the permissions and what each implies. Pure. */

/** Every permission, as `organization-access` of a team names them; those without rules here are kept as sent. */
export const ORGANIZATION_PERMISSIONS = [
  'manage-policies',
  'manage-policy-overrides',
  'delegate-policy-overrides',
  'manage-workspaces',
  'manage-vcs-settings',
  'manage-providers',
  'manage-modules',
  'manage-run-tasks',
  'manage-projects',
  'read-workspaces',
  'read-projects',
  'manage-membership',
  'manage-teams',
  'manage-organization-access',
  'access-secret-teams',
  'manage-agent-pools',
  'manage-public-providers',
  'manage-public-modules',
  'manage-registry-components',
  'manage-registry-artifact-tags',
  'manage-registry-artifact-version-tags',
] as const;
export type OrganizationPermission = (typeof ORGANIZATION_PERMISSIONS)[number];

/** Transitively closed: what is implied implies nothing more that does not stand here. */
const IMPLIES: Readonly<Partial<Record<OrganizationPermission, readonly OrganizationPermission[]>>> = {
  'manage-workspaces': ['read-workspaces'],
  'manage-projects': ['manage-workspaces', 'read-workspaces', 'read-projects'],
  'manage-teams': ['manage-membership'],
  'manage-organization-access': ['manage-teams', 'manage-membership'],
};

const ALL: ReadonlySet<OrganizationPermission> = new Set(ORGANIZATION_PERMISSIONS);
const NONE: ReadonlySet<OrganizationPermission> = new Set();

/** What owners hold. */
export const allPermissions = (): ReadonlySet<OrganizationPermission> => ALL;

/** Permissions with everything that they imply. */
export function withImplied(given: Iterable<OrganizationPermission>): ReadonlySet<OrganizationPermission> {
  const held = new Set<OrganizationPermission>();
  for (const permission of given) {
    held.add(permission);
    for (const implied of IMPLIES[permission] ?? []) held.add(implied);
  }
  return held.size === 0 ? NONE : held;
}

/** The level that a permission by itself gives on every workspace of the organization. */
export function levelOn(permission: OrganizationPermission): 'admin' | 'read' | undefined {
  const held = withImplied([permission]);
  if (held.has('manage-workspaces')) return 'admin';
  return held.has('read-workspaces') ? 'read' : undefined;
}
