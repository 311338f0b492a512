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
  changedAccess,
  createdAccess,
  rankOf,
  readOnlyAttributes,
} from './access.ts';

/** The table of the decisions, as it stands there. */
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
/** Something that no level implies. */
const ODD: Attributes = { ...HIGHEST, runs: 'plan', 'state-versions': 'read-outputs' };
const started = (level: AccessLevel): Access => createdAccess(level, level === 'custom' ? ODD : {});

describe('a new access', () => {
  test('has a cell in the table for every level and attribute', () => {
    assert.equal(cells.length, ACCESS_LEVELS.length * ATTRIBUTE_NAMES.length);
  });
  for (const { level, name, value } of cells) {
    test(`${level} gives ${name} ${value}`, () => {
      assert.equal(String(attributesOf(createdAccess(level, {}))[name as keyof Attributes]), value);
    });
  }
  test('custom takes what is given and keeps the defaults of the rest', () => {
    const { runs, variables } = attributesOf(createdAccess('custom', { runs: 'apply' }));
    assert.deepEqual([runs, variables], ['apply', 'none']);
  });
  test('a fixed level keeps no attributes of its own', () => {
    assert.deepEqual(createdAccess('write', {}), { access: 'write' });
  });
});

describe('a change of level', () => {
  for (const from of ACCESS_LEVELS) {
    for (const to of ACCESS_LEVELS) {
      test(`${from} → ${to}`, () => {
        const before = started(from);
        const after = changedAccess(before, { access: to, attributes: {} });
        assert.equal(after.access, to);
        assert.deepEqual(attributesOf(after), to === 'custom' ? attributesOf(before) : attributesOf(started(to)));
      });
      test(`${from} → ${to} with attributes`, () => {
        const given = { runs: 'read', 'run-tasks': true } as const;
        const readOnly = readOnlyAttributes(to, given);
        if (to !== 'custom') {
          assert.deepEqual(readOnly, ['runs', 'run-tasks']);
          return;
        }
        assert.deepEqual(readOnly, []);
        const before = started(from);
        const after = changedAccess(before, { access: to, attributes: given });
        assert.deepEqual(attributesOf(after), { ...attributesOf(before), ...given });
      });
    }
    test(`${from} without a level keeps it`, () => {
      assert.deepEqual(changedAccess(started(from), { attributes: {} }), started(from));
    });
  }
  test('custom → read → custom shows what read implies', () => {
    const read = changedAccess(started('custom'), { access: 'read', attributes: {} });
    assert.deepEqual(
      attributesOf(changedAccess(read, { access: 'custom', attributes: {} })),
      attributesOf(started('read')),
    );
  });
  test('custom with one attribute keeps the others', () => {
    const after = changedAccess(started('custom'), { attributes: { variables: 'none' } });
    assert.deepEqual(attributesOf(after), { ...ODD, variables: 'none' });
  });
});

describe('the orders', () => {
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
    test(`of ${name}`, () => {
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
