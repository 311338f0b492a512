import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INCLUDED_MAX, LINKAGE_MAX } from '../limits.ts';
import { JsonApiError } from './errors.ts';
import { createIncluded } from './include.ts';
import { namesAll, namesSome } from './linkage.ts';

const ids = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `user-${i}`);

test('a document about one resource names all that it leads to', () => {
  assert.equal(namesAll('users', ids(LINKAGE_MAX + 1)).data?.length, LINKAGE_MAX + 1);
});

test('a document of many names no more than its bound in all, and counts what would go past it', () => {
  const linkage = namesSome();
  assert.equal(linkage('users', ids(LINKAGE_MAX - 2)).data?.length, LINKAGE_MAX - 2);
  assert.deepEqual(linkage('users', ids(3)), { meta: { count: 3 } });
  assert.equal(linkage('users', ids(2)).data?.length, 2);
  assert.deepEqual(linkage('users', ids(1)), { meta: { count: 1 } });
  assert.deepEqual(linkage('users', []), { data: [] });
});

test('what is brought along is shown once, in the order in which it came, and bounded', () => {
  const included = createIncluded(2);
  let shown = 0;
  const show = (id: string) => () => {
    shown += 1;
    return { id, type: 'teams' };
  };
  for (const id of ['b', 'a', 'b']) included.add('teams', id, show(id));
  assert.deepEqual(
    included.all().map(({ id }) => id),
    ['b', 'a'],
  );
  assert.equal(shown, 2);
  for (let i = 2; i < INCLUDED_MAX; i++) included.add('teams', String(i), show(String(i)));
  included.add('teams', 'a', show('a'));
  assert.throws(
    () => included.add('teams', 'one too many', show('x')),
    (error) => error instanceof JsonApiError && error.faults[0]?.parameter === 'include',
  );
});

test('a document about one resource brings all that it leads to along', () => {
  const included = createIncluded(1);
  for (const id of ids(INCLUDED_MAX + 1)) included.add('users', id, () => ({ id, type: 'users' }));
  assert.equal(included.all().length, INCLUDED_MAX + 1);
});
