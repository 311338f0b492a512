import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { loadConfig } from '../config.ts';
import { ConfigError } from './error.ts';
import { flagOf, type SettingKey, secretVariableOf, settingKeys, variableOf } from './table.ts';

const folder = mkdtempSync(join(tmpdir(), 'accord-settings-'));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'readable');
writeFileSync(file, 'content');
chmodSync(file, 0o600);

const sources = (flags: Readonly<Record<string, string>>) => ({
  flags: new Map(Object.entries(flags)),
  environment: {},
  configFile: join(folder, 'empty.yaml'),
  host: { name: 'node-1', isTerminal: false },
});
writeFileSync(join(folder, 'empty.yaml'), '');

interface Samples {
  readonly good: readonly string[];
  readonly bad: readonly string[];
  /** Other settings that the valid values require. */
  readonly beside?: Readonly<Record<string, string>>;
}

const durations = { good: ['10s', '1m30s'], bad: ['10', 'soon', '-1s', '', '100000d'] };
const counts = { good: ['1', '10000000'], bad: ['0', '-1', '1.5', 'many', '', '10000001'] };
const sizes = { good: ['1 MiB', '65536'], bad: ['1 MB', '0', 'big', '', '2 GiB'] };
const etcd = { store: 'etcd' };
const etcdTls = { ...etcd, 'etcd.endpoints': 'https://etcd.example:2379' };
const secretFile = { good: ['/run/secret', './not-there-yet'], bad: [''] };

/** Valid and invalid values of every setting. A setting without an entry does not compile. */
const samples: Readonly<Record<SettingKey, Samples>> = {
  'data-key-file': secretFile,
  services: {
    good: ['peering', 'team-access', 'team-access, peering'],
    bad: ['', 'none', 'peerings', 'peering,peering'],
  },
  'data-dir': { good: ['/var/lib/accord', 'data'], bad: [''] },
  store: { good: ['sqlite', 'etcd'], bad: ['', 'postgres', 'SQLite'] },
  'etcd.endpoints': {
    good: ['http://a:2379', 'https://a:2379,https://b:2379'],
    bad: ['', 'a:2379', 'none', 'http://a:2379/path', 'http://a:1,https://b:1', 'http://a,http://a'],
    beside: etcd,
  },
  'etcd.ca': { good: [file], bad: ['', '/no/such/file'], beside: etcdTls },
  'etcd.cert': { good: [file], bad: ['', '/no/such/file'], beside: { ...etcdTls, 'etcd.key': file } },
  'etcd.key': { good: [file], bad: ['', '/no/such/file'], beside: { ...etcdTls, 'etcd.cert': file } },
  'etcd.prefix': { good: ['accord/', '/', 'a/b/'], bad: ['', 'accord', 'a b/', `${'x'.repeat(128)}/`], beside: etcd },
  'etcd.username': {
    good: ['accord'],
    bad: ['', 'a\u0007b'],
    beside: { ...etcd, 'etcd.password-file': '/run/secret' },
  },
  'etcd.password-file': { ...secretFile, beside: { ...etcd, 'etcd.username': 'accord' } },
  'etcd.max-txn-ops': { good: ['16', '20000'], bad: ['15', '', '1000001'], beside: etcd },
  'etcd.max-txn-bytes': { ...sizes, beside: etcd },
  'etcd.quota': { good: ['16 MiB', '8 GiB'], bad: ['', '15 MiB', '2 GB', '1025 GiB'], beside: etcd },
  'etcd.compact': { good: ['off', '5m'], bad: ['0', '59s', 'never', ''], beside: etcd },
  'node.lease': { good: ['2s', '10s', '1m'], bad: [...durations.bad, '1s', '2500ms', '0', '11m'] },
  'node.name': { good: ['a', 'node-1.example', 'N_1'], bad: ['', '-a', 'a/b', 'a b', 'x'.repeat(129)] },
  'dns.address': { good: ['off', '127.0.0.1:8600'], bad: ['', 'on', '8600'] },
  'dns.domain': { good: ['accord', 'a.example'], bad: ['', '.', 'a b'], beside: { 'dns.address': '127.0.0.1:8600' } },
  'dns.ttl': { good: ['0', '30s'], bad: ['', '500ms', '8d'], beside: { 'dns.address': '127.0.0.1:8600' } },
  'dns.token-file': { ...secretFile, beside: { 'dns.address': '127.0.0.1:8600' } },
  'audit.retention': { good: ['1h', '14d'], bad: [...durations.bad, '0', '59m'] },
  'state.rows-max': { good: ['1000', '2000000'], bad: ['', '999', '1e6'] },
  'stale.max-age': { good: ['1s', '10m'], bad: [...durations.bad, '0', '25h'] },
  'http.address': { good: ['127.0.0.1:0', '[::1]:8500'], bad: ['', '8500', ':8500', 'host:port'] },
  'http.tls-cert': { good: [file], bad: ['', '/no/such/file'], beside: { 'http.tls-key': file } },
  'http.tls-key': { good: [file], bad: ['', '/no/such/file'], beside: { 'http.tls-cert': file } },
  'http.allowed-origins': {
    good: ['none', '', 'https://a.example, http://b:81'],
    bad: ['*', 'a.example', 'https://a/b'],
  },
  'peering.address': { good: ['127.0.0.1:0', '10.0.0.1:8503'], bad: ['', '8503', '0.0.0.0:8503', '[::]:8503'] },
  'peering.advertise': {
    good: ['a.example:1', '[::1]:8503,b:2'],
    bad: ['', 'none', 'a.example', 'a:0', '0.0.0.0:8503'],
  },
  'peering.deny-networks': {
    good: ['none', '10.0.0.0/8', 'fe80::/10,169.254.0.0/16'],
    bad: ['10.0.0.1', '10.0.0.0/33', 'fe80::/129', 'host/8', '10.0.0.0/8,10.0.0.0/8'],
  },
  'peering.token-ttl': { good: ['0', '1m', '7d'], bad: [...durations.bad, '59s'] },
  'peering.heartbeat-interval': { good: ['1s', '15s'], bad: [...durations.bad, '0', '61s'] },
  'peering.heartbeat-timeout': { good: ['30s', '2m'], bad: [...durations.bad, '0', '29s'] },
  'cluster.datacenter': { good: ['dc1', 'eu-west_1'], bad: ['', 'DC1', '-a', 'x'.repeat(64)] },
  'cluster.edition': { good: ['enterprise', 'community'], bad: ['', 'oss'] },
  'acl.enabled': { good: ['true', 'false'], bad: ['', 'yes', '0'] },
  'acl.default-policy': { good: ['deny', 'allow'], bad: ['', 'permit'] },
  'team-access.invitations': { good: ['automatic', 'accept'], bad: ['', 'manual'] },
  'team-access.rate-limit': { good: ['0', '4', '30'], bad: ['', '3', '-1', '30/s'] }, // [TEAM-90]
  compat: { good: ['none', '', 'consul', 'terraform,consul'], bad: ['vault', 'consul,consul'] },
  'bootstrap.acl-token-file': secretFile,
  'bootstrap.admin-token-file': secretFile,
  'limits.connections': counts,
  'limits.connections-per-address': { good: ['1', '20000'], bad: [...counts.bad, '20001'] },
  'limits.rate-per-token': { good: ['0', '1', '1000000'], bad: ['', '-1', '1.5', '10/s', '1000001'] },
  'limits.waiting': counts,
  'limits.waiting-per-token': { good: ['1', '20000'], bad: [...counts.bad, '20001'] },
  'limits.bodies': { good: ['16 MiB', '1 GiB'], bad: ['1 MB', '0', 'big', '', '15 MiB', '65 GiB'] },
  'limits.body': { good: ['1 KiB', '16 MiB'], bad: [...sizes.bad, '17 MiB'] },
  'limits.bulk-body': { good: ['1 MiB', '1 GiB'], bad: [...sizes.bad, '1 KiB'] },
  'limits.rows-per-organization': counts,
  'limits.rows-per-user': counts,
  'limits.organizations-per-user': counts,
  'limits.rows-per-partition': counts,
  'limits.write-rate': { good: ['off', '1 KiB', '1 MiB'], bad: [...sizes.bad, '1 B'] },
  'limits.peerings': counts,
  'limits.streams': counts,
  'limits.stream-handshake': { good: ['1s', '10s'], bad: [...durations.bad, '0', '11m'] },
  'log.level': { good: ['trace', 'debug', 'info', 'warn', 'error'], bad: ['', 'INFO', 'fatal'] },
  'log.format': { good: ['text', 'json'], bad: ['', 'xml'] },
  'shutdown.grace': { good: ['0', '10s'], bad: [...durations.bad, '500ms'] },
};

for (const key of settingKeys) {
  const { good, bad, beside = {} } = samples[key];

  test(`${key} accepts its valid values and formats them so that they parse again [SRV-15]`, async () => {
    for (const text of good) {
      const { inForce } = await loadConfig(sources({ ...beside, [key]: text }));
      const { shown, origin } = inForce.find((row) => row.key === key) ?? {};
      assert.deepEqual(origin, { kind: 'flag', name: flagOf(key) });
      assert.ok(shown !== undefined);
      const again = await loadConfig(sources({ ...beside, [key]: shown }));
      assert.equal(again.inForce.find((row) => row.key === key)?.shown, shown);
    }
  });

  test(`${key} rejects its invalid values in one line with key, origin, value, and expectation [SRV-8]`, async () => {
    for (const text of bad) {
      await assert.rejects(loadConfig(sources({ ...beside, [key]: text })), (error) => {
        assert.ok(error instanceof ConfigError, String(error));
        // A valid value can contradict another setting, which the message then names.
        assert.match(error.message, /^[a-z.-]+ from (--[a-z-]+|default) is ".*": want .+$/s, text);
        assert.ok(!error.message.includes('\n'), text);
        return true;
      });
    }
  });
}

test('keys, variables, and flags are unique [SRV-4]', () => {
  const variables = settingKeys.flatMap((key) => [variableOf(key), secretVariableOf(key) ?? []].flat());
  assert.equal(new Set(variables).size, variables.length);
  assert.equal(new Set(settingKeys.map(flagOf)).size, settingKeys.length);
  assert.equal(variableOf('http.tls-cert'), 'ACCORD_HTTP_TLS_CERT');
  assert.equal(flagOf('etcd.max-txn-ops'), '--etcd-max-txn-ops');
  assert.equal(secretVariableOf('bootstrap.acl-token-file'), 'ACCORD_BOOTSTRAP_ACL_TOKEN');
});

test('a secret setting has no command-line flag [SRV-12]', () => {
  const flags = settingKeys.map(flagOf);
  for (const key of settingKeys.filter((candidate) => secretVariableOf(candidate) !== undefined)) {
    assert.ok(key.endsWith('-file'));
    assert.ok(!flags.includes(flagOf(key.replace(/-file$/, ''))));
  }
});
