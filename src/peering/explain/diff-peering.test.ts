import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { importedInstance, importFrom, mustGet } from '../../../test/support/peering/catalog-requests.ts';
import type { Diff } from '../../../test/support/peering/diagnosis.ts';
import { createStreamMap, openFakeStream } from '../../../test/support/peering/fake-streams.ts';
import { mustGenerate, statusAndText } from '../../../test/support/peering/peering-requests.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';

let api: Api;
let live: ReturnType<typeof createStreamMap>;
beforeEach(async () => {
  live = createStreamMap();
  api = await startApi({ live });
  await mustGenerate(api, 'east');
});
afterEach(() => api[Symbol.asyncDispose]());

const PATH = '/v1/peering/east/diff';
const HASH = Buffer.from('as it is there').toString('base64url');

test('lists the differences by name, with the digest compared with [SVC-96]', async () => {
  for (const service of ['old', 'Stale']) await importFrom(api, 'east', service, [importedInstance(service, 'n1')]);
  await openFakeStream(api, live, 'east', { delivery: { digest: { stale: HASH, Absent: HASH, large: '' } } });
  assert.deepEqual(await mustGet(api, PATH), {
    Peer: 'east',
    Comparable: true,
    Digest: { Index: 7, Time: '1970-01-01T00:00:01.000Z', Received: '1970-01-01T00:00:02.000Z' },
    Differences: [
      { Service: 'Absent', Difference: 'missing' },
      {
        Service: 'large',
        Difference: 'missing',
        Reason: 'the peer could not send its current version: see the diagnosis there',
      },
      { Service: 'old', Difference: 'extra' },
      { Service: 'stale', Difference: 'stale' },
    ],
  });
});

test('reports why it has no digest, and which server has [SVC-96]', async () => {
  const incomparable = { Peer: 'east', Comparable: false, Differences: [] };
  assert.deepEqual(await mustGet(api, PATH), { ...incomparable, Reason: 'no stream is open' });
  await openFakeStream(api, live, 'east', { delivery: { isAccord: false } });
  const Reason = 'the peer is not an Accord cluster and sends no digest';
  assert.deepEqual(await mustGet(api, PATH), { ...incomparable, Reason });
  await openFakeStream(api, live, 'east', { server: 'b' });
  const elsewhere = await mustGet<Diff & { readonly Server: string }>(api, PATH);
  assert.deepEqual([elsewhere.Comparable, elsewhere.Server], [false, 'b']);
});

test('omits services that the token may not read', async () => {
  const { SecretID: token } = await api.makeToken(['peering:read', 'services:read=db']);
  const ask = () => api.request('GET', PATH, { token });
  await openFakeStream(api, live, 'east', { delivery: { digest: { db: HASH } } });
  const before = await ask();
  await openFakeStream(api, live, 'east', { delivery: { digest: { db: HASH, web: HASH } } });
  const after = await ask();
  assert.deepEqual(statusAndText(after), statusAndText(before));
  assert.deepEqual(after.json<Diff>().Differences, [{ Service: 'db', Difference: 'missing' }]);
  assert.equal(before.headers['x-service-results-filtered-by-acls'], undefined);
  assert.equal(after.headers['x-service-results-filtered-by-acls'], 'true');
});

test('requires grants on the peering and on services, whether or not the peering exists', async () => {
  for (const grant of ['peering:read', 'services:read']) {
    const { SecretID: token } = await api.makeToken([grant]);
    const there = statusAndText(await api.request('GET', PATH, { token }));
    assert.equal(there[0], 403);
    assert.deepEqual(there, statusAndText(await api.request('GET', '/v1/peering/nobody/diff', { token })));
  }
});
