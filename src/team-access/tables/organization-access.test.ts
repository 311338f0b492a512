import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { permissionContributions } from '../authorization/effective-access.ts';
import {
  grantAccessEverywhere,
  ORGANIZATION_PERMISSIONS,
  type OrganizationPermission,
  withImplied,
} from './organization-access.ts';
import { createAccess } from './team-workspace.ts';

const implications: Readonly<Record<string, readonly string[]>> = {
  'manage-workspaces': ['read-workspaces'],
  'manage-projects': ['manage-workspaces', 'read-projects', 'read-workspaces'],
  'manage-teams': ['manage-membership'],
  'manage-organization-access': ['manage-membership', 'manage-teams'],
  'manage-agent-pools': ['read-projects', 'read-workspaces'],
};
const levels: Readonly<Record<string, string>> = {
  'manage-workspaces': 'admin',
  'manage-projects': 'admin',
  'read-workspaces': 'read',
  'manage-agent-pools': 'read',
  'manage-policies': 'custom',
  'manage-policy-overrides': 'custom',
};

describe('organization permissions', () => {
  for (const permission of ORGANIZATION_PERMISSIONS) {
    test(`${permission} implies exactly the specified permissions [AUTHZ-8]`, () => {
      const held = [...withImplied([permission])].toSorted();
      assert.deepEqual(held, [permission, ...(implications[permission] ?? [])].toSorted());
    });
    test(`${permission} grants ${levels[permission] ?? 'nothing'} on workspaces [AUTHZ-8] [AUTHZ-10]`, () => {
      const [contribution] = permissionContributions('team-a', [permission]);
      assert.equal(contribution?.access.access, levels[permission]);
      assert.equal(grantAccessEverywhere(withImplied([permission])), permission in levels);
    });
  }
  test('manage-policies and manage-policy-overrides grant the reading of runs and nothing else [AUTHZ-8]', () => {
    for (const permission of ['manage-policies', 'manage-policy-overrides'] as const)
      assert.deepEqual(permissionContributions('t', [permission])[0]?.access, createAccess('custom', { runs: 'read' }));
  });
  test('are transitively closed', () => {
    for (const permission of ORGANIZATION_PERMISSIONS) {
      const once = withImplied([permission]);
      assert.deepEqual(withImplied(once as ReadonlySet<OrganizationPermission>), once);
    }
  });
});
