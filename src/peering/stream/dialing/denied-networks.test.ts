import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { connectFailureReason } from '../connect-failure.ts';
import { createDeniedNetworks, guardedLookup } from './denied-networks.ts';
import { peerConnections } from './peer-connection.ts';

/** Most of the defaults. */
const linkLocal = createDeniedNetworks([
  '169.254.0.0/16',
  'fe80::/10',
  'fd00:ec2::254/128',
  'fd20:ce::254/128',
  '100.100.100.200/32',
]);

describe('peering.deny-networks [PEER-105]', () => {
  it('covers link-local addresses and metadata services in every notation', () => {
    const denied = [
      '169.254.169.254',
      '169.254.0.1',
      '::ffff:169.254.169.254',
      '::ffff:a9fe:a9fe',
      '64:ff9b::169.254.169.254',
      'fe80::1',
      'fe80::1%eth0',
      'fd00:ec2::254',
      '100.100.100.200',
    ];
    for (const address of denied) assert.equal(linkLocal.includes(address), true, address);
    for (const address of ['127.0.0.1', '10.0.0.1', '::1', 'fd00::1', '8.8.8.8', '64:ff9b::8.8.8.8', 'host']) {
      assert.equal(linkLocal.includes(address), false, address);
    }
  });

  it('applies to what a name resolves to', async () => {
    const resolve = promisify(guardedLookup(createDeniedNetworks(['127.0.0.0/8', '::1/128'])));
    await assert.rejects(resolve('localhost', { all: true }), { code: 'ERR_ADDRESS_DENIED' });
    const open = promisify(guardedLookup(createDeniedNetworks(['10.0.0.0/8'])));
    assert.ok(await open('localhost', { all: true }));
  });

  it('rejects calls and streams with the reason, before a connection', async () => {
    const denied = createDeniedNetworks(['127.0.0.0/8', '::1/128']);
    const { signal } = new AbortController();
    for (const address of ['127.0.0.1:1', 'localhost:1', '[::ffff:127.0.0.1]:1']) {
      const peer = peerConnections('1.13.0', denied)({ address, serverName: 'a.example', roots: [] });
      const isDenied = (error: unknown): boolean => /peering\.deny-networks/.test(connectFailureReason(error));
      await assert.rejects(peer.exchange('id', 'secret', signal), isDenied, address);
      await assert.rejects(Array.fromAsync(peer.stream((async function* () {})(), signal)), isDenied, address);
      peer.close();
    }
  });
});
