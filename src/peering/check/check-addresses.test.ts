import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { freePort } from '../../../test/support/free-port.ts';
import { ADDRESSES_MAX } from '../limits.ts';
import { checkAddresses } from './check-addresses.ts';
import { around, makeCluster, peerOf, startPeer } from './peer.suite.ts';
import { reportOf } from './report.ts';

const never = new AbortController().signal;

test('what fails at one address is a warning as long as another one works', async (t) => {
  const cluster = await makeCluster();
  const closed = `127.0.0.1:${await freePort()}`;
  const { address } = await startPeer(t, cluster, async () => {
    throw new ConnectError('invalid peering establishment secret', Code.PermissionDenied);
  });
  const tcpOf = async (...addresses: readonly string[]) => {
    const checks = await checkAddresses(around, addresses, peerOf(cluster), never);
    const tcp = checks.find(({ ID, Address }) => ID === 'tcp' && Address === closed);
    return { healthy: reportOf(checks).Healthy, tcp: `${tcp?.Status} ${tcp?.Code}` };
  };
  assert.deepEqual(await tcpOf(closed, address), { healthy: true, tcp: 'warning tcp-refused' });
  assert.deepEqual(await tcpOf(closed), { healthy: false, tcp: 'failed tcp-refused' });
});

test('addresses keep their order, and more than there may be are left alone', async () => {
  const peer = { id: 'x', serverName: 'server.dc1.peering.x.accord', roots: [] };
  const resolve = (host: string): Promise<never> =>
    Promise.reject(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' }));
  const addresses = Array.from({ length: ADDRESSES_MAX + 1 }, (_, i) => `host-${i}.test:8503`);
  const checks = await checkAddresses({ ...around, resolve }, addresses, peer, never);
  const tried = checks.filter(({ ID }) => ID === 'dns').map(({ Address }) => Address);
  assert.deepEqual(tried, addresses.slice(0, ADDRESSES_MAX));
});
