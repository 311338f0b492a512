import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addressOfLabel, type Host, labelOfAddress, readHost } from './host-name.ts';

const hosts: Readonly<Record<string, Host | undefined>> = {
  '10.0.0.1': { kind: 'A', address: '10.0.0.1' },
  '2001:DB8:0:0::1': { kind: 'AAAA', address: '2001:db8::1' },
  '::ffff:10.0.0.1': { kind: 'AAAA', address: '::ffff:a00:1' },
  '::': { kind: 'AAAA', address: '::' },
  'fe80::1%eth0': undefined,
  'app.example.com': { kind: 'CNAME', name: 'app.example.com' },
  'app.example.com.': { kind: 'CNAME', name: 'app.example.com' },
  'two words': undefined,
  '': undefined,
  'a..b': undefined,
  [`${'a'.repeat(64)}.example`]: undefined,
  [`${'a'.repeat(63)}.example`]: { kind: 'CNAME', name: `${'a'.repeat(63)}.example` },
  ['a.'.repeat(127)]: { kind: 'CNAME', name: 'a.'.repeat(127).slice(0, -1) },
  ['a.'.repeat(128)]: undefined,
};

for (const [text, host] of Object.entries(hosts)) {
  test(`${JSON.stringify(text)} is ${JSON.stringify(host) ?? 'not representable'}`, () => {
    assert.deepEqual(readHost(text), host);
  });
}

test('addressOfLabel inverts labelOfAddress', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const host = readHost(text);
      assert.ok(host !== undefined && host.kind !== 'CNAME');
      const label = labelOfAddress(host.address);
      assert.match(label, /^([0-9a-f]{8}|[0-9a-f]{32})$/);
      assert.equal(addressOfLabel(label), host.address);
    }),
  );
});
