import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkServerAddresses } from './server-address.ts';

describe('checkServerAddresses [PEER-9]', () => {
  for (const address of [
    'a:1',
    '127.0.0.1:8503',
    'peer.example.com:65535',
    'peer.example.com.:443',
    'my_host:1',
    '[::1]:1',
    '[2001:db8::1]:8503',
    '1a.example:1',
  ]) {
    test(`accepts ${address}`, () => checkServerAddresses([address]));
  }
  for (const address of [
    '',
    'a',
    ':1',
    'a:',
    'a:0',
    'a:65536',
    'a:123456',
    'a:-1',
    'a:1x',
    '::1:1',
    '[::1]',
    '[a]:1',
    '[127.0.0.1]:1',
    '256.1.1.1:1',
    '1.2.3:1',
    '-a:1',
    'a b:1',
    'a/b:1',
    'u@a:1',
    'https://a:1',
    'a..b:1',
    `${'a'.repeat(64)}:1`,
    'a:1\n',
  ]) {
    test(`rejects ${JSON.stringify(address)}`, () => {
      assert.throws(() => checkServerAddresses(['a:1', address]), {
        code: 'bad-request',
        message: `${address} is not a valid peering server address`,
      });
    });
  }
});
