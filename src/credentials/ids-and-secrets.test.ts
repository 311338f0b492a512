import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { orderedUuid } from './ids-and-secrets.ts';

const VERSION_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('orderedUuid returns distinct UUIDs of version 4 in order of creation [ACL-13]', async () => {
  const uuids: string[] = [];
  for (let i = 0; i < 5; i++) {
    uuids.push(orderedUuid());
    await delay(2);
  }
  for (const uuid of uuids) assert.match(uuid, VERSION_4);
  assert.deepEqual(uuids, uuids.toSorted());
  assert.equal(new Set(Array.from({ length: 10_000 }, orderedUuid)).size, 10_000);
});
