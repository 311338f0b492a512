import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  levelGrantedBy,
  ORGANIZATION_PERMISSIONS,
  type OrganizationPermission,
  withImplied,
} from './organization-access.ts';

const implications: Readonly<Record<string, readonly string[]>> = {
  'manage-workspaces': ['read-workspaces'],
  'manage-projects': ['manage-workspaces', 'read-projects', 'read-workspaces'],
  'manage-teams': ['manage-membership'],
  'manage-organization-access': ['manage-membership', 'manage-teams'],
};
const levels: Readonly<Record<string, string>> = {
  'manage-workspaces': 'admin',
  'manage-projects': 'admin',
  'read-workspaces': 'read',
};

describe('organization permissions', () => {
  for (const permission of ORGANIZATION_PERMISSIONS) {
    test(`${permission} implies exactly the specified permissions [AUTHZ-8]`, () => {
      const held = [...withImplied([permission])].toSorted();
      assert.deepEqual(held, [permission, ...(implications[permission] ?? [])].toSorted());
    });
    test(`${permission} grants ${levels[permission] ?? 'nothing'} on workspaces [AUTHZ-8] [AUTHZ-10]`, () => {
      assert.equal(levelGrantedBy(permission), levels[permission]);
    });
  }
  test('are transitively closed', () => {
    for (const permission of ORGANIZATION_PERMISSIONS) {
      const once = withImplied([permission]);
      assert.deepEqual(withImplied(once as ReadonlySet<OrganizationPermission>), once);
    }
  });
});
