import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FAULTS_MAX } from '../limits.ts';
import { type Fault, JsonApiError } from './errors.ts';
import { readIdentifiers, readResource, type WantedResource } from './read-resource.ts';

const ROW: WantedResource = {
  type: 'team-workspaces',
  relationships: [
    { name: 'team', type: 'teams', label: 'Team' },
    { name: 'workspace', type: 'workspaces', label: 'Workspace' },
  ],
};
const team = { data: { type: 'teams', id: 'team-1' } };
const workspace = { data: { type: 'workspaces', id: 'ws-1' } };
const whole = { type: 'team-workspaces', attributes: { access: 'read' }, relationships: { team, workspace } };

const bytes = (body: unknown): Buffer => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));

/** What is told of a body: code and pointer of each fault. */
function told(read: () => unknown): readonly string[] {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof JsonApiError, String(error));
    return error.faults.map(({ code, pointer }: Fault) => `${code} ${pointer}`);
  }
  return [];
}

describe('a resource in a body', () => {
  test('is read with its attributes and relationships', () => {
    const { attributes, relationships } = readResource(bytes({ data: whole }), ROW);
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
    ['nothing', '', ['invalid-body ']],
    ['no JSON', '{', ['invalid-body ']],
    ['no object', '[]', ['invalid-body ']],
    ['no text', Buffer.from([0xff]).toString('latin1'), ['invalid-body ']],
    ['a key twice', '{"data":1,"data":2}', ['invalid-body ']],
    ['no data', {}, ['invalid-body /data']],
    ['data that is no object', { data: [] }, ['invalid-body /data']],
    ['data that is null', { data: null }, ['invalid-body /data']],
    ['no type', { data: { ...whole, type: undefined } }, ['invalid-body /data/type']],
    ['another type', { data: { ...whole, type: 'teams' } }, ['invalid-body /data/type']],
    ['attributes that are no object', { data: { ...whole, attributes: [] } }, ['invalid-body /data/attributes']],
    [
      'relationships that are no object',
      { data: { ...whole, relationships: 1 } },
      [
        'invalid-body /data/relationships',
        'invalid-attribute /data/relationships/team',
        'invalid-attribute /data/relationships/workspace',
      ],
    ],
    [
      'no relationships',
      { data: { ...whole, relationships: undefined } },
      ['invalid-attribute /data/relationships/team', 'invalid-attribute /data/relationships/workspace'],
    ],
    [
      'a relationship to nothing',
      { data: { ...whole, relationships: { team: { data: null }, workspace } } },
      ['invalid-attribute /data/relationships/team'],
    ],
    [
      'relationships to the wrong things',
      {
        data: {
          ...whole,
          relationships: { team: workspace, workspace: { data: { type: 'workspaces', id: 7 } } },
        },
      },
      ['invalid-body /data/relationships/team/data/type', 'invalid-body /data/relationships/workspace/data/id'],
    ],
    [
      'a relationship to several',
      { data: { ...whole, relationships: { team: { data: [] }, workspace } } },
      ['invalid-body /data/relationships/team/data'],
    ],
    [
      'several at once',
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
  for (const [what, body, faults] of bodies) {
    test(`is refused for ${what}`, () => {
      assert.deepEqual(
        told(() => readResource(bytes(body), ROW)),
        faults,
      );
    });
  }

  test('of an update needs neither type nor id, and both must be right', () => {
    const wanted = { type: 'teams', updates: 'team-1' };
    const read = (data: unknown) => told(() => readResource(bytes({ data }), wanted));
    assert.deepEqual(read({}), []);
    assert.deepEqual(read({ type: 'teams', id: 'team-1' }), []);
    assert.deepEqual(read({ type: 'team', id: 'team-2' }), ['invalid-body /data/type', 'invalid-body /data/id']);
  });
  test('that is new has an id that is ignored', () => {
    assert.deepEqual(
      told(() => readResource(bytes({ data: { type: 'teams', id: 'x' } }), { type: 'teams' })),
      [],
    );
  });
  test('has no attributes of the prototype', () => {
    const read = readResource(bytes('{"data":{"type":"teams","attributes":{"__proto__":{"name":"x"}}}}'), {
      type: 'teams',
    });
    assert.equal((read.attributes as { name?: string }).name, undefined);
  });
});

describe('identifiers in a body', () => {
  const read = (data: unknown) => told(() => readIdentifiers(bytes({ data }), 'users'));
  test('are read, each once', () => {
    const data = ['a', 'b', 'a'].map((id) => ({ type: 'users', id }));
    assert.deepEqual(readIdentifiers(bytes({ data }), 'users'), ['a', 'b']);
  });
  test('are refused where they are none', () => {
    assert.deepEqual(read({}), ['invalid-body /data']);
    assert.deepEqual(read([1, { type: 'teams', id: 'x' }, { type: 'users' }]), [
      'invalid-body /data/0',
      'invalid-body /data/1/type',
      'invalid-body /data/2/id',
    ]);
  });
  test('are told no more faults of than anybody reads, however many they are', () => {
    const faults = read(Array.from({ length: 300_000 }, () => 0));
    assert.equal(faults.length, FAULTS_MAX);
    assert.equal(faults.at(-1), `invalid-body /data/${FAULTS_MAX - 1}`);
  });
});
