import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ALL_GRANTS, covers, type Grant, type Permission, permits, permitsAnyName, RESOURCES } from './acl-token.ts';

/** Parses `<resource>:<access>|<partition>|<names>`; the partition defaults to `default`. */
const grant = (text: string): Grant => {
  const [resourceAccess = '', Partition = 'default', names] = text.split('|');
  const [Resource, Access] = resourceAccess.split(':') as [Grant['Resource'], Grant['Access']];
  return names === undefined
    ? { Resource, Access, Partition }
    : { Resource, Access, Partition, Names: names.split(',') };
};

const permission = (text: string): Permission => {
  const [resourceAccess = '', partition = 'default', name] = text.split('|');
  const [resource, access] = resourceAccess.split(':') as [Permission['resource'], Permission['access']];
  return name === undefined ? { resource, access, partition } : { resource, access, partition, name };
};

describe('permits [ACL-21] [ACL-25]', () => {
  const rows: readonly (readonly [grants: string, wanted: string, allowed: boolean])[] = [
    ['peering:read', 'peering:read', true],
    ['peering:read', 'peering:write', false],
    ['peering:write', 'peering:read', true],
    ['peering:write', 'config:read', false],
    ['peering:read|eu', 'peering:read|eu', true],
    ['peering:read|eu', 'peering:read|EU', true],
    ['peering:read|eu', 'peering:read|us', false],
    ['peering:read|*', 'peering:read|us', true],
    ['peering:read|eu', 'peering:read|*', false], // [ACL-27]
    ['peering:read|*|east', 'peering:read|eu|east', true],
    ['peering:read|*|east', 'peering:read|eu|EAST', true],
    ['peering:read|*|east', 'peering:read|eu|east2', false],
    ['peering:read|*|prod-*', 'peering:read|eu|Prod-1', true],
    ['peering:read|*|prod-*', 'peering:read|eu|dev-1', false],
    ['peering:read|*|prod-*', 'peering:read|eu', false], // [ACL-26]
    ['peering:read|*', 'peering:read|eu|anything', true],
    ['peering:read|eu|a;peering:write|eu|b', 'peering:write|eu|a', false],
    ['', 'peering:read', false],
  ];
  for (const [grants, wanted, allowed] of rows) {
    it(`returns ${allowed} for [${grants}] and ${wanted}`, () => {
      const held = grants === '' ? [] : grants.split(';').map(grant);
      assert.equal(permits(held, permission(wanted)), allowed);
    });
  }
});

describe('permitsSome', () => {
  it('returns true for grants that are limited to names', () => {
    assert.equal(permitsAnyName([grant('peering:read|eu|prod-*')], 'peering', 'read', 'eu'), true);
    assert.equal(permitsAnyName([grant('peering:read|eu|prod-*')], 'peering', 'write', 'eu'), false);
    assert.equal(permitsAnyName([grant('peering:read|eu|prod-*')], 'peering', 'read', 'us'), false);
  });
});

describe('covers [ACL-30]', () => {
  const rows: readonly (readonly [held: string, wanted: string, covered: boolean])[] = [
    ['peering:write|*', 'peering:read|eu', true],
    ['peering:read|*', 'peering:write|eu', false],
    ['peering:read|eu', 'peering:read|*', false],
    ['peering:read|eu|prod-*', 'peering:read|eu|prod-eu-*,prod-1', true],
    ['peering:read|eu|prod-*', 'peering:read|eu|pro*', false],
    ['peering:read|eu|prod-*', 'peering:read|eu', false],
    ['peering:read|eu|prod', 'peering:read|eu|prod*', false],
    ['peering:read|eu|a;peering:read|*|b', 'peering:read|eu|a,b', true],
    ['peering:read|eu|a;peering:read|us|b', 'peering:read|eu|a,b', false],
  ];
  for (const [held, wanted, covered] of rows) {
    it(`returns ${covered} for [${held}] and ${wanted}`, () => {
      assert.equal(covers(held.split(';').map(grant), grant(wanted)), covered);
    });
  }

  it('returns true for ALL_GRANTS and each of its grants', () => {
    for (const wanted of ALL_GRANTS) assert.equal(covers(ALL_GRANTS, wanted), true);
  });

  const label = fc.constantFrom('a', 'ab', 'abc', 'b');
  const pattern = fc.oneof(
    label,
    label.map((text) => `${text}*`),
    fc.constant('*'),
  );
  const anyGrant: fc.Arbitrary<Grant> = fc
    .record({
      Resource: fc.constantFrom(...RESOURCES),
      Access: fc.constantFrom('read' as const, 'write' as const),
      Partition: fc.constantFrom('eu', 'us', '*'),
      Names: fc.option(fc.array(pattern, { minLength: 1, maxLength: 3 }), { nil: undefined }),
    })
    .map(({ Names, ...rest }) => (Names === undefined ? rest : { ...rest, Names }));
  const anyPermission = fc.record({
    resource: fc.constantFrom(...RESOURCES),
    access: fc.constantFrom('read' as const, 'write' as const),
    partition: fc.constantFrom('eu', 'us'),
    name: fc.constantFrom('a', 'ab', 'abc', 'abcd', 'b', 'x'),
  });

  it('returns true only if the held grants permit everything that the wanted grant permits', () => {
    fc.assert(
      fc.property(fc.array(anyGrant, { maxLength: 4 }), anyGrant, anyPermission, (held, wanted, action) => {
        if (covers(held, wanted) && permits([wanted], action)) assert.ok(permits(held, action));
      }),
      { numRuns: 2_000 },
    );
  });
});
