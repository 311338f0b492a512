import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from './error.ts';
import { parseConfigFile } from './file.ts';

const read = (content: string): Readonly<Record<string, string>> =>
  Object.fromEntries(parseConfigFile('accord.yaml', content).map(({ key, text }) => [key, text]));

test('parseConfigFile treats nested maps and dotted keys the same [SRV-7]', () => {
  assert.deepEqual(read('http:\n  address: 127.0.0.1:1\n  tls-cert: a.pem\n'), {
    'http.address': '127.0.0.1:1',
    'http.tls-cert': 'a.pem',
  });
  assert.deepEqual(read('http.address: 127.0.0.1:1\nlog: {level: debug}'), {
    'http.address': '127.0.0.1:1',
    'log.level': 'debug',
  });
});

test('parseConfigFile returns numbers, booleans, and sequences as written [SRV-7]', () => {
  const content =
    'limits:\n  streams: 020\nacl.enabled: false\nservices: [peering, team-access]\ndns.ttl: 0\nstore: "etcd"';
  assert.deepEqual(read(content), {
    'limits.streams': '020',
    'acl.enabled': 'false',
    services: 'peering,team-access',
    'dns.ttl': '0',
    store: 'etcd',
  });
});

test('parseConfigFile returns the line of each entry [SRV-8]', () => {
  const [first, second] = parseConfigFile('a.yaml', '# settings\n\nlog:\n  level: info\nstore: etcd\n');
  assert.deepEqual(first?.origin, { kind: 'file', path: 'a.yaml', line: 4 });
  assert.deepEqual(second?.origin, { kind: 'file', path: 'a.yaml', line: 5 });
});

test('parseConfigFile returns nothing for an empty file, a comment, or an empty group', () => {
  for (const content of ['', '# nothing\n', '---\n', 'etcd:\n', '{}']) assert.deepEqual(read(content), {}, content);
});

test('parseConfigFile resolves aliases', () => {
  assert.deepEqual(read('http.tls-cert: &pem a.pem\netcd.cert: *pem'), {
    'http.tls-cert': 'a.pem',
    'etcd.cert': 'a.pem',
  });
});

const faults: Readonly<Record<string, RegExp>> = {
  // [SRV-9]
  'htp.address: 1': /^accord\.yaml:1: there is no setting "htp\.address"; did you mean http\.address\?$/,
  'http:\n  adress: 1': /^accord\.yaml:2: there is no setting "http\.adress"; did you mean http\.address\?$/,
  'colour: red': /^accord\.yaml:1: there is no setting "colour"$/,
  'http: 127.0.0.1:1': /^accord\.yaml:1: there is no setting "http"; did you mean http\.address\?$/,
  // [SRV-13]
  'data-key: c2VjcmV0':
    /^accord\.yaml:1: there is no setting "data-key": a secret .* data-key-file names, or in ACCORD_DATA_KEY$/,
  // [SRV-7]
  'log.level: info\nlog: {level: debug}': /^log\.level is in accord\.yaml twice, on lines 1 and 2$/,
  'log.level:': /^log\.level from accord\.yaml:1 has no value: want one of trace, /,
  'log.level: [info]': /^log\.level from accord\.yaml:1 is a sequence: want one of /,
  'services: {peering: true}': /^services from accord\.yaml:1 is a map: want a list /,
  'services: [[peering]]': /^services from accord\.yaml:1 is a sequence: want /,
  '- store: etcd': /^accord\.yaml:1: want settings, one "key: value" on each line$/,
  'store: etcd\n  bad: [': /^accord\.yaml:\d is not YAML: [^\n]+$/,
  'store: etcd\nstore: sqlite': /^accord\.yaml:2 is not YAML: Map keys must be unique/,
};

for (const [content, message] of Object.entries(faults)) {
  test(`parseConfigFile rejects ${JSON.stringify(content)} and names the line`, () => {
    assert.throws(
      () => parseConfigFile('accord.yaml', content),
      (error) => error instanceof ConfigError && message.test(error.message) && !error.message.includes('c2VjcmV0'),
    );
  });
}
