/** The organization-wide permissions of teams, and the permissions that each implies. */

/** All permissions of a team's `organization-access`. The server stores those that it does not enforce. */
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

/**
 * Transitively closed, so one lookup finds everything that a permission implies. The vendor's reference, "Organization
 * permissions", lets `manage-agent-pools` read all workspaces and projects.
 */
const IMPLIES: Readonly<Partial<Record<OrganizationPermission, readonly OrganizationPermission[]>>> = {
  'manage-workspaces': ['read-workspaces'],
  'manage-projects': ['manage-workspaces', 'read-workspaces', 'read-projects'],
  'manage-teams': ['manage-membership'],
  'manage-organization-access': ['manage-teams', 'manage-membership'],
  'manage-agent-pools': ['read-workspaces', 'read-projects'],
};

/** The permissions that let their holders read the runs of all workspaces, and nothing else, by the same reference. */
export const READS_RUNS: ReadonlySet<OrganizationPermission> = new Set(['manage-policies', 'manage-policy-overrides']);

/** The permissions of owners. */
export const ALL_PERMISSIONS: ReadonlySet<OrganizationPermission> = new Set(ORGANIZATION_PERMISSIONS);

const NONE: ReadonlySet<OrganizationPermission> = new Set();

export function withImplied(given: Iterable<OrganizationPermission>): ReadonlySet<OrganizationPermission> {
  const held = new Set<OrganizationPermission>();
  for (const permission of given) {
    held.add(permission);
    for (const implied of IMPLIES[permission] ?? []) held.add(implied);
  }
  return held.size === 0 ? NONE : held;
}

/** Whether one of the permissions grants access to every workspace of the organization. */
export const grantAccessEverywhere = (held: ReadonlySet<OrganizationPermission>): boolean =>
  held.has('read-workspaces') || [...READS_RUNS].some((permission) => held.has(permission));
