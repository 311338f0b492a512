import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { before, describe, test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { type Api, sharedApi, startApi } from '../../../test/support/process/api.ts';
import { until } from '../../../test/support/until.ts';
import { newPeering, peerings, terminatedByPeer } from '../record/record.ts';
import { links } from '../record/secrets.ts';
import { CHECK_MS_MAX } from './limits.ts';
import { makeCluster, PEER_ID, startPeer, startTcp, summary, type TestCluster } from './peer.suite.ts';
import type { CheckReport } from './report.ts';

const refuse = async (): Promise<never> => {
  throw new ConnectError('invalid peering establishment secret', Code.PermissionDenied);
};

/** Writes a dialing peering, as an establish does. */
async function makeDialing(api: Api, name: string, { serverName, roots }: TestCluster, addresses: readonly string[]) {
  const peer = { id: PEER_ID, serverName, addresses, manual: false };
  const row = newPeering({ id: randomUUID(), name, partition: 'default', role: 'dialing', meta: {}, peer });
  await api.state.write((tx) => {
    tx.put(peerings, row);
    tx.put(links, { peeringId: row.id, secret: { clear: 'the stream secret' }, roots, trustDomain: '' });
  });
  return row;
}

async function checked(api: Api, name: string): Promise<CheckReport> {
  const answer = await api.request('GET', `/v1/peering/${name}/check`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json<CheckReport>();
}

describe('GET /v1/peering/:name/check', () => {
  const api = sharedApi();
  let cluster: TestCluster;
  before(async () => {
    cluster = await makeCluster();
  });

  test('checks every address of a dialing peering and reports the role', async (t) => {
    const { address } = await startPeer(t, cluster, refuse);
    await makeDialing(api(), 'Dials', cluster, [address]);
    const { Name, Healthy, Checks } = await checked(api(), 'dials');
    assert.deepEqual([Name, Healthy], ['Dials', true]);
    assert.deepEqual(summary(Checks), [
      ...['role passed', 'stream warning stream-not-yet', 'dns passed', 'tcp passed', 'tls passed'],
      ...['server-name passed', 'grpc passed'],
    ]);
  });

  test('checks no address of a dialing peering that the other side terminated', async () => {
    const row = await makeDialing(api(), 'ended', cluster, ['127.0.0.1:1']);
    await api().state.write((tx) => {
      tx.delete(links, row.id);
      tx.put(peerings, terminatedByPeer(row) ?? row);
    });
    const { Healthy, Checks } = await checked(api(), 'ended');
    assert.equal(Healthy, false);
    assert.deepEqual(summary(Checks), ['role passed', 'stream failed deleted-there']);
  });

  test('reports the token and the advertised addresses of an accepting peering [PEER-98]', async () => {
    await api().request('POST', '/v1/peering/token', { body: { PeerName: 'accepts' } });
    const outstanding = await checked(api(), 'accepts');
    assert.equal(outstanding.Healthy, true);
    assert.deepEqual(summary(outstanding.Checks), [
      ...['role passed', 'token passed', 'stream warning stream-not-yet', 'advertise warning advertise-loopback'],
    ]);
    await api().request('DELETE', '/v1/peering/accepts/token');
    const revoked = await checked(api(), 'accepts');
    assert.deepEqual([revoked.Healthy, summary(revoked.Checks)[1]], [false, 'token failed token-missing']);
  });

  test('writes no secret to the response or the log', async (t) => {
    const { address } = await startPeer(t, cluster, refuse);
    await makeDialing(api(), 'secretive', cluster, [address]);
    const { text } = await api().request('GET', '/v1/peering/secretive/check');
    assert.ok(!`${text}${api().log()}`.includes('the stream secret'));
  });

  test('requires peering:write on the name before it reveals whether the peering exists', async () => {
    await makeDialing(api(), 'guarded', cluster, []);
    const reader = await api().makeToken(['peering:read']);
    const limited = await api().makeToken(['peering:write=guard*']);
    const status = async (name: string, token: string | null): Promise<number> =>
      (await api().request('GET', `/v1/peering/${name}/check`, { token })).status;
    for (const name of ['guarded', 'nobody']) {
      assert.deepEqual([await status(name, null), await status(name, reader.SecretID ?? '')], [403, 403]);
    }
    assert.equal(await status('nobody', limited.SecretID ?? ''), 403);
    assert.equal(await status('guarded', limited.SecretID ?? ''), 200);
    assert.equal(await status('guardian', limited.SecretID ?? ''), 404);
  });

  test('returns 404 for a missing peering and 400 for an invalid name', async () => {
    const missing = await api().request('GET', '/v1/peering/nobody/check');
    assert.deepEqual([missing.status, missing.text], [404, 'Peering not found for "nobody"']);
    const bad = await api().request('GET', '/v1/peering/a..b/check');
    assert.equal(bad.status, 400);
    assert.match(bad.text, /^a\.\.b is not a valid peer name/);
  });

  test('checks a peering with the name "check" [PEER-6]', async () => {
    await makeDialing(api(), 'check', cluster, []);
    assert.equal((await api().request('GET', '/v1/peering/check')).json<{ Name: string }>().Name, 'check');
    assert.equal((await checked(api(), 'check')).Name, 'check');
    assert.equal((await api().request('DELETE', '/v1/peering/check')).status, 200);
  });

  test('ends when the client disconnects', async (t) => {
    const server = await startTcp(t, () => undefined);
    await makeDialing(api(), 'left', cluster, [server.address]);
    const leaving = new AbortController();
    const met = once(server.events, 'data');
    const answer = api().request('GET', '/v1/peering/left/check', { signal: leaving.signal });
    const cut = assert.rejects(answer);
    await met;
    leaving.abort();
    await cut;
    await until('the connection to the peer is closed', async () => (await server.open()) === 0);
    assert.doesNotMatch(api().log(), /request failed/);
  });
});

test('returns a report at the timeout [PEER-100]', async (t) => {
  const clock = createFakeClock(Date.now());
  await using api = await startApi({ clock });
  const server = await startTcp(t, () => undefined);
  await makeDialing(api, 'silent', await makeCluster(), [server.address]);
  server.events.once('data', () => clock.advance(CHECK_MS_MAX));
  const { Healthy, Checks } = await checked(api, 'silent');
  assert.deepEqual([Healthy, summary(Checks).at(-1)], [false, 'tls failed tls-timed-out']);
});
