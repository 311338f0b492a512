import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { before, describe, test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { sharedApi } from '../../../test/support/process/api.ts';
import type { ExchangeSecretRequest } from '../stream/wire/gen/peering/peerstream_pb.ts';
import { encodeToken } from '../token/token.ts';
import { makeCluster, PEER_ID, startPeer, summary, type TestCluster } from './peer.suite.ts';
import type { CheckReport } from './report.ts';

const refuse = async (): Promise<never> => {
  throw new ConnectError('invalid peering establishment secret', Code.PermissionDenied);
};

const SECRET = randomUUID();

const tokenOf = ({ serverName, roots }: TestCluster, addresses: readonly string[]): string =>
  encodeToken({
    CA: roots,
    ManualServerAddresses: null,
    ServerAddresses: addresses,
    ServerName: serverName,
    PeerID: PEER_ID,
    EstablishmentSecret: SECRET,
    Remote: { Partition: '', Datacenter: 'dc2', Locality: null },
  });

describe('POST /v1/peering/check', () => {
  const api = sharedApi();
  let cluster: TestCluster;
  before(async () => {
    cluster = await makeCluster();
  });
  const check = (body: unknown, token?: string | null) =>
    api().request('POST', '/v1/peering/check', { body, ...(token === undefined ? {} : { token }) });
  const report = async (PeeringToken: string): Promise<CheckReport> => {
    const answer = await check({ PeeringToken });
    assert.equal(answer.status, 200, answer.text);
    return answer.json<CheckReport>();
  };

  test('checks the addresses of the token without using it [PEER-97] [PEER-99]', async (t) => {
    const server = await startPeer(t, cluster, refuse);
    const requested = once(server.events, 'request') as Promise<ExchangeSecretRequest[]>;
    const { snapshot } = api().state;
    const { Name, Healthy, Checks } = await report(tokenOf(cluster, [server.address]));
    assert.deepEqual([Name, Healthy], [undefined, true]);
    assert.deepEqual(summary(Checks), [
      ...['token passed', 'dns passed', 'tcp passed', 'tls passed', 'server-name passed', 'grpc passed'],
    ]);
    const [request] = await requested;
    assert.equal(request?.PeerID, PEER_ID);
    assert.notEqual(request?.EstablishmentSecret, SECRET);
    assert.equal(api().state.snapshot, snapshot);
    assert.ok(!api().log().includes(SECRET));
  });

  test('uses the error text of establish for a token that cannot be decoded', async () => {
    for (const [token, detail] of [
      ['!', 'failed to decode token'],
      [tokenOf({ ...cluster, roots: [] }, ['a:1']), 'peering token CA value is empty'],
      [tokenOf(cluster, ['no port']), 'no port is not a valid peering server address'],
    ] as const) {
      const { Healthy, Checks } = await report(token);
      assert.deepEqual([Healthy, Checks.length, Checks[0]?.Code], [false, 1, 'token-invalid']);
      assert.equal(Checks[0]?.Detail, detail);
    }
  });

  test('reports a token of this cluster [PEER-95]', async () => {
    const generated = await api().request('POST', '/v1/peering/token', { body: { PeerName: 'own' } });
    const { Healthy, Checks } = await report(generated.json<{ PeeringToken: string }>().PeeringToken);
    assert.deepEqual([Healthy, summary(Checks)], [false, ['token failed token-own-cluster']]);
    assert.match(Checks[0]?.Remedy ?? '', /^establish the peering in the other cluster/);
    assert.equal(Checks[0]?.Mend, Checks[0]?.Remedy);
  });

  test('requires peering:write for every name before it decodes the token [PEER-99]', async () => {
    const { SecretID: reader = '' } = await api().makeToken(['peering:read']);
    const { SecretID: limited = '' } = await api().makeToken(['peering:write=east']);
    assert.deepEqual(
      [(await check({ PeeringToken: '!' }, null)).status, (await check({ PeeringToken: '!' }, reader)).status],
      [403, 403],
    );
    assert.equal((await check({ PeeringToken: '!' }, limited)).status, 403);
    const { SecretID: writer = '' } = await api().makeToken(['peering:write']);
    assert.equal((await check({ PeeringToken: '!' }, writer)).status, 200);
    assert.equal((await check({ PeeringToken: '!', Partition: 'eu' }, writer)).status, 403);
  });

  test('returns 400 for an invalid body', async () => {
    for (const [body, words] of [
      [{}, 'PeeringToken is required in the payload when checking a peering token.'],
      [{ PeeringToken: 1 }, 'Body decoding failed: PeeringToken: want a string, got a number'],
      [{ Token: 'x' }, 'Body decoding failed: json: unknown field "Token"'],
      [{ PeeringToken: 'x', Partition: 'nowhere' }, 'partition "nowhere" does not exist'],
      [{ PeeringToken: 'x', Partition: 'a b' }, 'a b is not a valid partition name'],
    ] as const) {
      const answer = await check(body);
      assert.equal(answer.status, 400);
      assert.ok(answer.text.startsWith(words), answer.text);
    }
  });
});
