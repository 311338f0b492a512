import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INCLUDED_MAX, LINKAGE_MAX } from '../limits.ts';
import { JsonApiError } from './errors.ts';
import { boundedLinkage, collectIncluded, fullLinkage } from './include.ts';

const ids = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => `user-${i}`);

test('fullLinkage contains all identifiers', () => {
  assert.equal(fullLinkage('users', ids(LINKAGE_MAX + 1)).data?.length, LINKAGE_MAX + 1);
});

test('boundedLinkage counts the relationships that would exceed the limit of the document', () => {
  const linkage = boundedLinkage();
  assert.equal(linkage('users', ids(LINKAGE_MAX - 2)).data?.length, LINKAGE_MAX - 2);
  assert.deepEqual(linkage('users', ids(3)), { meta: { count: 3 } });
  assert.equal(linkage('users', ids(2)).data?.length, 2);
  assert.deepEqual(linkage('users', ids(1)), { meta: { count: 1 } });
  assert.deepEqual(linkage('users', []), { data: [] });
});

test('collectIncluded adds each resource once, keeps the order and limits the number [DOC-29]', () => {
  const included = collectIncluded(2);
  let converted = 0;
  const toJson = (id: string) => () => {
    converted += 1;
    return { id, type: 'teams' };
  };
  for (const id of ['b', 'a', 'b']) included.add('teams', id, toJson(id));
  assert.deepEqual(
    included.all().map(({ id }) => id),
    ['b', 'a'],
  );
  assert.equal(converted, 2);
  for (let i = 2; i < INCLUDED_MAX; i++) included.add('teams', String(i), toJson(String(i)));
  included.add('teams', 'a', toJson('a'));
  assert.throws(
    () => included.add('teams', 'one too many', toJson('x')),
    (error) => error instanceof JsonApiError && error.errors[0]?.parameter === 'include',
  );
});

test('collectIncluded has no limit for one primary resource', () => {
  const included = collectIncluded(1);
  for (const id of ids(INCLUDED_MAX + 1)) included.add('users', id, () => ({ id, type: 'users' }));
  assert.equal(included.all().length, INCLUDED_MAX + 1);
});
