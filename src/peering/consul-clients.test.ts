/** `compat = consul`: what Consul's own clients rely on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generate, generated, peer, seen } from '../../test/support/peering/peering.ts';
import { startApi } from '../../test/support/process/api.ts';
import type { ShownPeering } from './record/record-to-json.ts';

test("records have Consul's states and all keys of the stream, in lists and alone", async () => {
  await using api = await startApi({ consul: true });
  await using other = await startApi();
  await generated(api, 'accepting');
  await generated(api, 'gone');
  await api.request('DELETE', '/v1/peering/gone');
  await peer(other, 'x', api, 'dialing');
  const list = (await api.request('GET', '/v1/peerings')).json<ShownPeering[]>();
  assert.deepEqual(
    list.map(({ Name, State }) => `${Name} ${State}`),
    ['accepting PENDING', 'dialing ESTABLISHING', 'gone DELETING'],
  );
  for (const { Partition: _, ...listed } of list) {
    const read = (await api.request('GET', `/v1/peering/${listed.Name}`)).json<ShownPeering>();
    assert.deepEqual(read, listed);
    const { LastHeartbeat, LastReceive, LastSend } = read.StreamStatus;
    assert.deepEqual([LastHeartbeat, LastReceive, LastSend], [null, null, null]);
  }
  const filtered = await api.request('GET', '/v1/peerings?state=pending');
  assert.deepEqual(
    filtered.json<ShownPeering[]>().map(({ Name }) => Name),
    ['accepting'],
  );
  assert.deepEqual(seen(await api.request('GET', '/v1/peerings?state=INITIAL')), [
    400,
    'Invalid state "INITIAL": want PENDING or ESTABLISHING or ACTIVE or FAILING or DELETING or TERMINATED',
  ]);
});

test('new names are lower case only; a peering is found whatever the case', async () => {
  await using api = await startApi({ consul: true });
  assert.deepEqual(seen(await generate(api, 'East')), [
    400,
    "East is not a valid peer name: a valid peering name must consist of lower case alphanumeric characters or '-', must start and end with an alphanumeric character, and be at most 63 characters long",
  ]);
  await generated(api, 'east');
  assert.equal((await api.request('GET', '/v1/peering/EAST')).status, 200);
});

test('the token comes in X-Consul-Token, and headers come in both names', async () => {
  await using api = await startApi({ consul: true });
  await generated(api, 'prod-1');
  await generated(api, 'west');
  const { SecretID } = await api.makeToken(['peering:read@default=prod-*']);
  const headers = { 'x-consul-token': SecretID };
  const answer = await api.request('GET', '/v1/peerings', { token: null, headers });
  assert.equal(answer.status, 200, answer.text);
  for (const name of ['results-filtered-by-acls', 'index', 'knownleader', 'lastcontact']) {
    assert.notEqual(answer.headers[`x-consul-${name}`], undefined, name);
    assert.equal(answer.headers[`x-consul-${name}`], answer.headers[`x-service-${name}`]);
  }
});
