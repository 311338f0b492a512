import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { runAtOnce } from '../../state/clock/slices.ts';
import { ORGANIZATION_PERMISSIONS } from '../tables/organization-access.ts';
import {
  ACCESS_LEVELS,
  type Access,
  ATTRIBUTE_NAMES,
  ATTRIBUTES,
  attributesOf,
  createAccess,
  rankOf,
} from '../tables/team-workspace.ts';
import {
  type Contribution,
  effectiveAccess,
  explainAccess,
  ownerContribution,
  permissionContributions,
} from './effective-access.ts';

const row = (access: Access, teamId = 'team-a'): Contribution => ({
  source: { kind: 'team-workspace', teamId, id: `tws-${teamId}` },
  access,
});

const anyAccess: fc.Arbitrary<Access> = fc
  .record({
    level: fc.constantFrom(...ACCESS_LEVELS),
    custom: fc.record(
      Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, fc.constantFrom(...ATTRIBUTES[name].values)])),
    ),
  })
  .map(({ level, custom }) => createAccess(level, custom));
const anyContribution: fc.Arbitrary<readonly Contribution[]> = fc.oneof(
  { weight: 6, arbitrary: anyAccess.map((access) => [row(access)]) },
  {
    weight: 3,
    arbitrary: fc.subarray([...ORGANIZATION_PERMISSIONS]).map((given) => permissionContributions('team-b', given)),
  },
  { weight: 1, arbitrary: fc.constant([ownerContribution('team-owners')]) },
);
const anyContributions = fc.array(anyContribution, { maxLength: 6 }).map((lists) => lists.flat());

describe('effective access', () => {
  test('is undefined without contributions', () => {
    assert.equal(effectiveAccess([]), undefined);
    assert.deepEqual(runAtOnce(explainAccess([])), []);
    assert.deepEqual(permissionContributions('team-a', ['manage-teams', 'read-projects']), []);
  });

  test('equals the access of the only row, including its level [AUTHZ-29]', () => {
    const access = createAccess('custom', { runs: 'apply' });
    assert.deepEqual(effectiveAccess([row(access)]), { access: 'custom', attributes: attributesOf(access) });
    assert.equal(effectiveAccess([row({ access: 'plan' })])?.access, 'plan');
  });

  test('takes each attribute from the row with the highest value', () => {
    const one = row(createAccess('custom', { runs: 'apply' }));
    const other = row(createAccess('custom', { variables: 'write', 'run-tasks': true }), 'team-b');
    const decision = effectiveAccess([one, other]);
    assert.deepEqual(decision, {
      access: 'custom',
      attributes: { ...attributesOf(one.access), variables: 'write', 'run-tasks': true },
    });
    const sources = runAtOnce(explainAccess([one, other])).find(({ name }) => name === 'variables')?.sources;
    assert.deepEqual(sources, [other.source]);
  });

  test('is not admin when every attribute has its highest value [TEAM-9] [AUTHZ-29]', () => {
    const highest = createAccess('custom', attributesOf({ access: 'admin' }));
    assert.equal(effectiveAccess([row(highest), row({ access: 'write' }, 'team-b')])?.access, 'custom');
  });

  for (const permission of ['manage-workspaces', 'manage-projects'] as const) {
    test(`is admin with ${permission}, whatever the row grants`, () => {
      const contributions = [row({ access: 'read' }), ...permissionContributions('team-b', [permission])];
      assert.deepEqual(effectiveAccess(contributions), {
        access: 'admin',
        attributes: attributesOf({ access: 'admin' }),
      });
      assert.deepEqual(runAtOnce(explainAccess(contributions))[0], {
        name: 'admin',
        value: true,
        sources: [{ kind: 'organization-permission', teamId: 'team-b', permission }],
      });
    });
  }

  test('is read with read-workspaces', () => {
    assert.equal(effectiveAccess(permissionContributions('team-b', ['read-workspaces']))?.access, 'read');
  });

  test('equals the result of a brute-force oracle', () => {
    fc.assert(
      fc.property(anyContributions, (contributions) => {
        const decision = effectiveAccess(contributions);
        if (contributions.length === 0) return decision === undefined;
        return ATTRIBUTE_NAMES.every((name) => {
          const ranks = contributions.map(({ access }) => rankOf(name, attributesOf(access)[name]));
          return rankOf(name, decision?.attributes[name]) === Math.max(...ranks);
        });
      }),
    );
  });

  test('never decreases when a contribution is added', () => {
    fc.assert(
      fc.property(anyContributions, anyContribution, (contributions, more) => {
        const before = effectiveAccess(contributions);
        const after = effectiveAccess([...contributions, ...more]);
        if (before === undefined) return true;
        if (before.access === 'admin' && after?.access !== 'admin') return false;
        return ATTRIBUTE_NAMES.every(
          (name) => rankOf(name, after?.attributes[name]) >= rankOf(name, before.attributes[name]),
        );
      }),
    );
  });

  test('equals its explanation, and every source grants the explained value', () => {
    fc.assert(
      fc.property(anyContributions, (contributions) => {
        const decision = effectiveAccess(contributions);
        for (const { name, value, sources } of runAtOnce(explainAccess(contributions))) {
          assert.ok(sources.length > 0);
          const named = contributions.filter(({ source }) => sources.includes(source));
          for (const { access } of named) {
            if (name === 'admin') assert.equal(access.access, 'admin');
            else assert.equal(attributesOf(access)[name], value);
          }
          if (name !== 'admin') assert.equal(decision?.attributes[name], value);
        }
      }),
    );
  });
});
