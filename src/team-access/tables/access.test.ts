import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ACCESS_LEVELS,
  type Access,
  type AccessLevel,
  ATTRIBUTE_NAMES,
  ATTRIBUTES,
  type Attributes,
  attributesOf,
  changeAccess,
  createAccess,
  rankOf,
} from './team-workspace.ts';

/** The tables of [TEAM-8] and [TEAM-110]. */
const TABLE = `
| level | runs | variables | state-versions | policy-mocks | workspace-locking | run-tasks | policy-overrides |
| read | read | read | read | none | false | false | false |
| plan | plan | read | read | none | false | false | false |
| write | apply | write | write | read | true | false | false |
| admin | apply | write | write | read | true | true | true |
| custom | read | none | none | none | false | false | false |
`;

const [HEAD = [], ...LINES] = TABLE.trim()
  .split('\n')
  .map((line) =>
    line
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
const cells = LINES.flatMap(([level = '', ...values]) =>
  values.map((value, i) => ({ level: level as AccessLevel, name: HEAD[i + 1] ?? '', value })),
);

const HIGHEST: Attributes = {
  runs: 'apply',
  variables: 'write',
  'state-versions': 'write',
  'policy-mocks': 'read',
  'workspace-locking': true,
  'run-tasks': true,
  'policy-overrides': true,
};
/** Attributes of no fixed level. */
const CUSTOM: Attributes = { ...HIGHEST, runs: 'plan', 'state-versions': 'read-outputs' };
const accessAt = (level: AccessLevel): Access => createAccess(level, level === 'custom' ? CUSTOM : {});

describe('createAccess', () => {
  test('is specified for every level and attribute [TEAM-6]', () => {
    assert.equal(cells.length, ACCESS_LEVELS.length * ATTRIBUTE_NAMES.length);
  });
  for (const { level, name, value } of cells) {
    test(`${level} sets ${name} to ${value}`, () => {
      assert.equal(String(attributesOf(createAccess(level, {}))[name as keyof Attributes]), value);
    });
  }
  test('custom uses the given attributes and the defaults of the others', () => {
    const { runs, variables } = attributesOf(createAccess('custom', { runs: 'apply' }));
    assert.deepEqual([runs, variables], ['apply', 'none']);
  });
  test('stores no attributes for a fixed level', () => {
    assert.deepEqual(createAccess('write', {}), { access: 'write' });
  });
});

describe('changeAccess', () => {
  for (const from of ACCESS_LEVELS) {
    for (const to of ACCESS_LEVELS) {
      test(`${from} → ${to}`, () => {
        const before = accessAt(from);
        const after = changeAccess(before, { access: to, attributes: {} });
        assert.equal(after.access, to);
        assert.deepEqual(attributesOf(after), to === 'custom' ? attributesOf(before) : attributesOf(accessAt(to)));
      });
    }
    test(`${from} → custom applies the given attributes`, () => {
      const given = { runs: 'read', 'run-tasks': true } as const;
      const before = accessAt(from);
      const after = changeAccess(before, { access: 'custom', attributes: given });
      assert.deepEqual(attributesOf(after), { ...attributesOf(before), ...given });
    });
    test(`keeps ${from} when the change has no level`, () => {
      assert.deepEqual(changeAccess(accessAt(from), { attributes: {} }), accessAt(from));
    });
  }
  test('custom → read → custom results in the attributes of read', () => {
    const read = changeAccess(accessAt('custom'), { access: 'read', attributes: {} });
    assert.deepEqual(
      attributesOf(changeAccess(read, { access: 'custom', attributes: {} })),
      attributesOf(accessAt('read')),
    );
  });
  test('changes one attribute of custom and keeps the others [TEAM-14]', () => {
    const after = changeAccess(accessAt('custom'), { attributes: { variables: 'none' } });
    assert.deepEqual(attributesOf(after), { ...CUSTOM, variables: 'none' });
  });
});

describe('rankOf', () => {
  const orders = {
    runs: 'read < plan < apply',
    variables: 'none < read < write',
    'state-versions': 'none < read-outputs < read < write',
    'policy-mocks': 'none < read',
    'workspace-locking': 'false < true',
    'run-tasks': 'false < true',
    'policy-overrides': 'false < true',
  };
  for (const name of ATTRIBUTE_NAMES) {
    test(`orders the values of ${name} [TEAM-7]`, () => {
      const { values } = ATTRIBUTES[name];
      assert.equal(values.join(' < '), orders[name]);
      assert.deepEqual(
        values.map((value) => rankOf(name, value)),
        [...values.keys()],
      );
      assert.equal(rankOf(name, 'nothing'), -1);
    });
  }
});
