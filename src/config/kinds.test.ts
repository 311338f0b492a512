import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { boolean, byteSize, duration, formatDuration, integer, list, oneOf, orOff, parseDuration } from './kinds.ts';
import { dnsName, hostPort, isLoopback, isWildcard, origin } from './network-kinds.ts';

/** Texts and their parsed values. `undefined` means rejected. */
function reads<T>(kind: { parse(text: string): T | undefined }, cases: Readonly<Record<string, T | undefined>>): void {
  for (const [text, value] of Object.entries(cases)) assert.deepEqual(kind.parse(text), value, JSON.stringify(text));
}

test('duration parses units in descending order [SRV-15]', () => {
  const day = 86_400_000;
  const readable = {
    '10s': 10_000,
    '5m': 300_000,
    '1m30s': 90_000,
    '7d': 7 * day,
    '1d12h': 1.5 * day,
    '250ms': 250,
    '0': 0,
  };
  for (const [text, durationMs] of Object.entries(readable)) assert.equal(parseDuration(text), durationMs, text);
  for (const text of ['', '10', '-1s', '1.5h', '30s1m', '1s1s', '1 s', '1S', 's', '1w', '9999999999s']) {
    assert.equal(parseDuration(text), undefined, text);
  }
});

test('duration parses what it formats', () => {
  fc.assert(
    fc.property(fc.nat(), (durationMs) => {
      assert.equal(parseDuration(formatDuration(durationMs)), durationMs);
    }),
  );
  assert.equal(formatDuration(90_000), '1m30s');
  assert.equal(formatDuration(0), '0');
});

test('duration enforces its bounds, its step, and the meaning of 0 [SRV-15]', () => {
  reads(duration({ min: 1_000, max: 5_000, step: 1_000, zero: 'never' }), {
    '0': 0,
    '1s': 1_000,
    '5s': 5_000,
    '999ms': undefined,
    '1s500ms': undefined,
    '5s1ms': undefined,
  });
  reads(duration({ min: 1_000, max: 5_000 }), { '0': undefined, '1s500ms': 1_500 });
});

test('byteSize accepts bytes and binary units only [SRV-15]', () => {
  const kind = byteSize({ min: 1, max: 2 ** 30 });
  reads(kind, { '1 MiB': 2 ** 20, '64KiB': 65_536, '1048576': 2 ** 20, '12 B': 12, '1 GiB': 2 ** 30 });
  reads(kind, {
    '1 MB': undefined,
    '1M': undefined,
    '2 GiB': undefined,
    '0': undefined,
    '1.5 MiB': undefined,
    '': undefined,
  });
  assert.deepEqual([2 ** 20, 65_537, 1024].map(kind.format), ['1 MiB', '65537 B', '1 KiB']);
});

test('byteSize parses what it formats', () => {
  const kind = byteSize({ min: 0, max: 2 ** 39 });
  fc.assert(fc.property(fc.nat({ max: 2 ** 39 }), (bytes) => assert.equal(kind.parse(kind.format(bytes)), bytes)));
});

test('integer enforces its bounds and accepts 0 only if it has a meaning [SRV-15]', () => {
  reads(integer({ min: 4, max: 10 }), {
    '4': 4,
    '10': 10,
    '3': undefined,
    '0': undefined,
    '11': undefined,
    '5.0': undefined,
  });
  reads(integer({ min: 4, max: 10, zero: 'off' }), {
    '0': 0,
    '3': undefined,
    '-4': undefined,
    '0x5': undefined,
    '': undefined,
  });
});

test('oneOf accepts exact words only [SRV-15]', () => {
  reads(oneOf('sqlite', 'etcd'), { sqlite: 'sqlite', etcd: 'etcd', SQLite: undefined, '': undefined });
  reads(boolean, { true: true, false: false, yes: undefined, '1': undefined });
  reads(orOff(boolean), { off: 'off', true: true, Off: undefined });
});

test('list rejects empty items, duplicates, and an empty list that is not allowed [SRV-15]', () => {
  const kind = oneOf('a', 'b');
  reads(list(kind, { emptyAllowed: true }), {
    'a, b': ['a', 'b'],
    none: [],
    '': [],
    'a,a': undefined,
    'a,,b': undefined,
  });
  reads(list(kind, { emptyAllowed: false }), { b: ['b'], none: undefined, '': undefined, 'a,c': undefined });
  assert.equal(list(kind, { emptyAllowed: true }).format([]), 'none');
});

test('hostPort accepts names, IPv4, and bracketed IPv6 [SRV-15]', () => {
  const listener = hostPort({ portMin: 0 });
  reads(listener, {
    '127.0.0.1:8500': { host: '127.0.0.1', port: 8500 },
    'accord.example:0': { host: 'accord.example', port: 0 },
    '[::1]:80': { host: '::1', port: 80 },
  });
  const refused = [
    '8500',
    ':8500',
    'host',
    'host:',
    'host:65536',
    '::1:80',
    '[::1]',
    '[host]:80',
    '300.1.1.1:80',
    'a b:80',
    'http://a:80',
  ];
  for (const text of refused) assert.equal(listener.parse(text), undefined, text);
  assert.equal(hostPort({ portMin: 1 }).parse('host:0'), undefined);
  assert.equal(listener.format({ host: '::1', port: 80 }), '[::1]:80');
});

test('origin accepts a scheme, a host, and a port, and rejects a path', () => {
  reads(origin, {
    'https://console.example': 'https://console.example',
    'https://console.example/': 'https://console.example',
    'https://console.example:443': 'https://console.example',
    'http://127.0.0.1:2379': 'http://127.0.0.1:2379',
    'ftp://a': undefined,
    'console.example': undefined,
    'https://a/path': undefined,
    'https://user@a': undefined,
    '*': undefined,
  });
});

test('dnsName accepts labels separated by dots', () => {
  reads(dnsName, {
    accord: 'accord',
    'a.b-c.example': 'a.b-c.example',
    '-a': undefined,
    'a..b': undefined,
    '': undefined,
  });
});

test('isLoopback and isWildcard recognize every notation of an address', () => {
  for (const host of ['127.0.0.1', '127.9.9.9', 'localhost', '::1', '0:0:0:0:0:0:0:1'])
    assert.ok(isLoopback(host), host);
  for (const host of ['0.0.0.0', '10.0.0.1', '::', 'example.com', '::2']) assert.ok(!isLoopback(host), host);
  for (const host of ['0.0.0.0', '::', '0:0:0:0:0:0:0:0']) assert.ok(isWildcard(host), host);
  for (const host of ['127.0.0.1', '::1', 'example.com']) assert.ok(!isWildcard(host), host);
});
