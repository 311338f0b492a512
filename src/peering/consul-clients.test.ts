/** The behavior with `compat: consul` ([PEER-101] to [PEER-103]). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mustGenerate, mustPeer, requestToken, statusAndText } from '../../test/support/peering/peering-requests.ts';
import { startApi } from '../../test/support/process/api.ts';
import type { PeeringJson } from './record/record-to-json.ts';

test("records have Consul's states and all keys of StreamStatus, alone and in lists [PEER-101] [PEER-102]", async () => {
  await using api = await startApi({ consul: true });
  await using other = await startApi();
  await mustGenerate(api, 'accepting');
  await mustGenerate(api, 'gone');
  await api.request('DELETE', '/v1/peering/gone');
  await mustPeer(other, 'x', api, 'dialing');
  const list = (await api.request('GET', '/v1/peerings')).json<PeeringJson[]>();
  assert.deepEqual(
    list.map(({ Name, State }) => `${Name} ${State}`),
    ['accepting PENDING', 'dialing ESTABLISHING', 'gone DELETING'],
  );
  for (const { Partition: _, ...listed } of list) {
    const read = (await api.request('GET', `/v1/peering/${listed.Name}`)).json<PeeringJson>();
    assert.deepEqual(read, listed);
    const { LastHeartbeat, LastReceive, LastSend } = read.StreamStatus;
    assert.deepEqual([LastHeartbeat, LastReceive, LastSend], [null, null, null]);
  }
  const filtered = await api.request('GET', '/v1/peerings?state=pending');
  assert.deepEqual(
    filtered.json<PeeringJson[]>().map(({ Name }) => Name),
    ['accepting'],
  );
  assert.deepEqual(statusAndText(await api.request('GET', '/v1/peerings?state=INITIAL')), [
    400,
    'Invalid state "INITIAL": want PENDING or ESTABLISHING or ACTIVE or FAILING or DELETING or TERMINATED',
  ]);
});

test('requires lower case for new names, and ignores case in lookups [PEER-103]', async () => {
  await using api = await startApi({ consul: true });
  assert.deepEqual(statusAndText(await requestToken(api, 'East')), [
    400,
    "East is not a valid peer name: a valid peering name must consist of lower case alphanumeric characters or '-', must start and end with an alphanumeric character, and be at most 63 characters long",
  ]);
  await mustGenerate(api, 'east');
  assert.equal((await api.request('GET', '/v1/peering/EAST')).status, 200);
});

test('accepts X-Consul-Token and sends headers under both names [V1-90]', async () => {
  await using api = await startApi({ consul: true });
  await mustGenerate(api, 'prod-1');
  await mustGenerate(api, 'west');
  const { SecretID } = await api.makeToken(['peering:read@default=prod-*']);
  const headers = { 'x-consul-token': SecretID };
  const answer = await api.request('GET', '/v1/peerings', { token: null, headers });
  assert.equal(answer.status, 200, answer.text);
  for (const name of ['results-filtered-by-acls', 'index', 'knownleader', 'lastcontact']) {
    assert.notEqual(answer.headers[`x-consul-${name}`], undefined, name);
    assert.equal(answer.headers[`x-consul-${name}`], answer.headers[`x-service-${name}`]);
  }
});
