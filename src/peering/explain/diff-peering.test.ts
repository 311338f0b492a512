import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { got, imported, importFrom } from '../../../test/support/peering/catalog.ts';
import type { Diff } from '../../../test/support/peering/explaining.ts';
import { heldStreams, openStream } from '../../../test/support/peering/held-streams.ts';
import { generated, seen } from '../../../test/support/peering/peering.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';

let api: Api;
let live: ReturnType<typeof heldStreams>;
beforeEach(async () => {
  live = heldStreams();
  api = await startApi({ live });
  await generated(api, 'east');
});
afterEach(() => api[Symbol.asyncDispose]());

const PATH = '/v1/peering/east/diff';
const HASH = Buffer.from('as it is there').toString('base64url');

test('what differs is listed by name, with what it was compared with', async () => {
  for (const service of ['old', 'Stale']) await importFrom(api, 'east', service, [imported(service, 'n1')]);
  await openStream(api, live, 'east', { told: { digest: { stale: HASH, Absent: HASH, large: '' } } });
  assert.deepEqual(await got(api, PATH), {
    Peer: 'east',
    Comparable: true,
    Digest: { Index: 7, Time: '1970-01-01T00:00:01.000Z', Received: '1970-01-01T00:00:02.000Z' },
    Differences: [
      { Service: 'Absent', Difference: 'missing' },
      { Service: 'large', Difference: 'missing', Reason: 'the peer has not sent it as it is there: ask there' },
      { Service: 'old', Difference: 'extra' },
      { Service: 'stale', Difference: 'stale' },
    ],
  });
});

test('without anything to compare with it says why, and which server can', async () => {
  const incomparable = { Peer: 'east', Comparable: false, Differences: [] };
  assert.deepEqual(await got(api, PATH), { ...incomparable, Reason: 'there is no stream' });
  await openStream(api, live, 'east', { told: { isAccord: false } });
  const Reason = 'the peer is no Accord: it does not tell what it has sent';
  assert.deepEqual(await got(api, PATH), { ...incomparable, Reason });
  await openStream(api, live, 'east', { server: 'b' });
  const elsewhere = await got<Diff & { readonly Server: string }>(api, PATH);
  assert.deepEqual([elsewhere.Comparable, elsewhere.Server], [false, 'b']);
});

test('services that a token may not read are left out, as if they were the same', async () => {
  const { SecretID: token } = await api.makeToken(['peering:read', 'services:read=db']);
  const ask = () => api.request('GET', PATH, { token });
  await openStream(api, live, 'east', { told: { digest: { db: HASH } } });
  const before = await ask();
  await openStream(api, live, 'east', { told: { digest: { db: HASH, web: HASH } } });
  const after = await ask();
  assert.deepEqual(seen(after), seen(before));
  assert.deepEqual(after.json<Diff>().Differences, [{ Service: 'db', Difference: 'missing' }]);
  assert.equal(before.headers['x-service-results-filtered-by-acls'], undefined);
  assert.equal(after.headers['x-service-results-filtered-by-acls'], 'true');
});

test('it needs a grant on the peering and one on services, whether the peering is there or not', async () => {
  for (const grant of ['peering:read', 'services:read']) {
    const { SecretID: token } = await api.makeToken([grant]);
    const there = seen(await api.request('GET', PATH, { token }));
    assert.equal(there[0], 403);
    assert.deepEqual(there, seen(await api.request('GET', '/v1/peering/nobody/diff', { token })));
  }
});
