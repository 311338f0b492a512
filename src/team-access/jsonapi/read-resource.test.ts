import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ERRORS_MAX } from '../limits.ts';
import { type ErrorObject, JsonApiError } from './errors.ts';
import { type ResourceSpec, readIdentifiers, readResource } from './read-resource.ts';

const SPEC: ResourceSpec = {
  type: 'team-workspaces',
  relationships: [
    { name: 'team', type: 'teams', label: 'Team' },
    { name: 'workspace', type: 'workspaces', label: 'Workspace' },
  ],
};
const team = { data: { type: 'teams', id: 'team-1' } };
const workspace = { data: { type: 'workspaces', id: 'ws-1' } };
const valid = { type: 'team-workspaces', attributes: { access: 'read' }, relationships: { team, workspace } };

const bytes = (body: unknown): Buffer => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));

/** Returns the code and pointer of each error. */
function errorsOf(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof JsonApiError, String(error));
    return error.errors.map(({ code, pointer }: ErrorObject) => `${code} ${pointer}`);
  }
  return [];
}

describe('readResource', () => {
  test('returns attributes and relationships', () => {
    const { attributes, relationships } = readResource(bytes({ data: valid }), SPEC);
    assert.deepEqual(attributes, { access: 'read' });
    assert.deepEqual(
      [...relationships],
      [
        ['team', 'team-1'],
        ['workspace', 'ws-1'],
      ],
    );
  });

  const bodies: readonly (readonly [string, unknown, readonly string[]])[] = [
    ['an empty body', '', ['invalid-body ']],
    ['invalid JSON', '{', ['invalid-body ']], // [TEAM-22]
    ['a body that is not an object', '[]', ['invalid-body ']],
    ['invalid UTF-8', Buffer.from([0xff]).toString('latin1'), ['invalid-body ']],
    ['a repeated key', '{"data":1,"data":2}', ['invalid-body ']], // [TEAM-22]
    ['missing data', {}, ['invalid-body /data']],
    ['data that is not an object', { data: [] }, ['invalid-body /data']],
    ['data that is null', { data: null }, ['invalid-body /data']],
    ['a missing type', { data: { ...valid, type: undefined } }, ['invalid-body /data/type']],
    ['another type', { data: { ...valid, type: 'teams' } }, ['invalid-body /data/type']],
    ['attributes that are not an object', { data: { ...valid, attributes: [] } }, ['invalid-body /data/attributes']],
    [
      'relationships that are not an object',
      { data: { ...valid, relationships: 1 } },
      [
        'invalid-body /data/relationships',
        'invalid-attribute /data/relationships/team',
        'invalid-attribute /data/relationships/workspace',
      ],
    ],
    [
      'missing relationships',
      { data: { ...valid, relationships: undefined } },
      ['invalid-attribute /data/relationships/team', 'invalid-attribute /data/relationships/workspace'],
    ],
    [
      'a relationship with null',
      { data: { ...valid, relationships: { team: { data: null }, workspace } } },
      ['invalid-attribute /data/relationships/team'],
    ],
    [
      'relationships with a wrong type or id',
      {
        data: {
          ...valid,
          relationships: { team: workspace, workspace: { data: { type: 'workspaces', id: 7 } } },
        },
      },
      ['invalid-body /data/relationships/team/data/type', 'invalid-body /data/relationships/workspace/data/id'],
    ],
    [
      'a to-one relationship with a list',
      { data: { ...valid, relationships: { team: { data: [] }, workspace } } },
      ['invalid-body /data/relationships/team/data'],
    ],
    [
      'several errors at once',
      { data: { type: 'x', id: 1, attributes: 'x', relationships: { team: 1, workspace } } },
      [
        'invalid-body /data/type',
        'invalid-body /data/id',
        'invalid-body /data/attributes',
        'invalid-body /data/relationships/team',
        'invalid-attribute /data/relationships/team',
      ],
    ],
  ];
  for (const [what, body, errors] of bodies) {
    test(`rejects ${what}`, () => {
      assert.deepEqual(
        errorsOf(() => readResource(bytes(body), SPEC)),
        errors,
      );
    });
  }

  test('treats null attributes and relationships like missing ones [TEAM-40]', () => {
    const spec = { ...SPEC, toManyRelationships: [{ name: 'users', type: 'users' }] };
    const read = (data: object) => readResource(bytes({ data: { type: 'team-workspaces', ...data } }), spec);
    assert.deepEqual(read({ attributes: null, relationships: { team, workspace } }).attributes, {});
    const { relationships, toManyRelationships } = read({ relationships: { team, workspace, users: null } });
    assert.deepEqual([relationships.size, toManyRelationships.size], [2, 0]);
    for (const given of [null, { team: null, workspace: null }, undefined]) {
      assert.deepEqual(
        errorsOf(() => read({ relationships: given })),
        ['invalid-attribute /data/relationships/team', 'invalid-attribute /data/relationships/workspace'],
      );
    }
  });
  test('accepts an update without type and id, and rejects wrong ones [TEAM-39]', () => {
    const spec = { type: 'teams', updates: 'team-1' };
    const read = (data: unknown) => errorsOf(() => readResource(bytes({ data }), spec));
    assert.deepEqual(read({}), []);
    assert.deepEqual(read({ type: 'teams', id: 'team-1' }), []);
    assert.deepEqual(read({ type: 'team', id: 'team-2' }), ['invalid-body /data/type', 'invalid-body /data/id']);
  });
  test('ignores the id of a new resource [TEAM-39]', () => {
    assert.deepEqual(
      errorsOf(() => readResource(bytes({ data: { type: 'teams', id: 'x' } }), { type: 'teams' })),
      [],
    );
  });
  test('does not return attributes of the prototype', () => {
    const read = readResource(bytes('{"data":{"type":"teams","attributes":{"__proto__":{"name":"x"}}}}'), {
      type: 'teams',
    });
    assert.equal((read.attributes as { name?: string }).name, undefined);
  });
});

describe('readIdentifiers', () => {
  const read = (data: unknown) => errorsOf(() => readIdentifiers(bytes({ data }), 'users'));
  test('removes duplicates [DOC-47]', () => {
    const data = ['a', 'b', 'a'].map((id) => ({ type: 'users', id }));
    assert.deepEqual(readIdentifiers(bytes({ data }), 'users'), ['a', 'b']);
  });
  test('rejects invalid identifiers [DOC-47]', () => {
    assert.deepEqual(read({}), ['invalid-body /data']);
    assert.deepEqual(read([1, { type: 'teams', id: 'x' }, { type: 'users' }]), [
      'invalid-body /data/0',
      'invalid-body /data/1/type',
      'invalid-body /data/2/id',
    ]);
  });
  test('reports at most ERRORS_MAX errors', () => {
    const errors = read(Array.from({ length: 90_000 }, () => 0));
    assert.equal(errors.length, ERRORS_MAX);
    assert.equal(errors.at(-1), `invalid-body /data/${ERRORS_MAX - 1}`);
  });
});
