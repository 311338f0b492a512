import assert from 'node:assert/strict';
import { test } from 'node:test';
import { got, registered, type ShownCheck } from '../../../test/support/peering/catalog.ts';
import { startApi } from '../../../test/support/process/api.ts';

test('two checks with one ID in a request are one, the last, on a new node as on one that is there', async () => {
  await using api = await startApi();
  const Checks = [
    { CheckID: 'disk', Name: 'disk', Status: 'critical' },
    { CheckID: 'disk', Name: 'disk', Status: 'passing' },
    { CheckID: 'answers', ServiceID: 'web', Status: 'critical' },
    { CheckID: 'answers', ServiceID: 'web', Status: 'warning' },
  ];
  for (const Node of ['new', 'new', 'other']) {
    await registered(api, { Node, Checks });
    const checks = await got<ShownCheck[]>(api, `/v1/health/node/${Node}`);
    assert.deepEqual(
      checks.map(({ CheckID, Status }) => `${CheckID} ${Status}`),
      ['disk passing', 'answers warning'],
    );
  }
});
