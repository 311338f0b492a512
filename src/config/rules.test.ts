import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type LoadedConfig, loadConfig } from '../config.ts';

const folder = mkdtempSync(join(tmpdir(), 'accord-rules-'));
after(() => rmSync(folder, { recursive: true }));
const pem = join(folder, 'file.pem');
writeFileSync(pem, 'pem');
const empty = join(folder, 'accord.yaml');
writeFileSync(empty, '');

const load = (flags: Readonly<Record<string, string>>): Promise<LoadedConfig> =>
  loadConfig({
    flags: new Map(Object.entries(flags)),
    environment: {},
    configFile: empty,
    host: { name: 'node-1', isTerminal: false },
  });

const https = { store: 'etcd', 'etcd.endpoints': 'https://a:2379' };

/** Settings that are valid alone and rejected together, with the expected message. */
const refused: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
  // [SRV-17]
  [{ 'http.tls-cert': pem }, /^http\.tls-cert from --http-tls-cert is ".*": want http\.tls-key as well$/],
  [{ 'http.tls-key': pem }, /^http\.tls-key .*: want http\.tls-cert as well$/],
  [{ ...https, 'etcd.cert': pem }, /^etcd\.cert .*: want etcd\.key as well$/],
  [{ store: 'etcd', 'etcd.username': 'a' }, /^etcd\.username .*: want etcd\.password-file as well$/],
  [{ store: 'etcd', 'etcd.password-file': pem }, /^etcd\.password-file .*: want etcd\.username as well$/],
  // [SRV-18]
  [{ 'etcd.prefix': 'a/' }, /^etcd\.prefix .*: want store: etcd as well, or no etcd settings$/],
  [{ 'dns.domain': 'a' }, /^dns\.domain .*: want dns\.address as well, or no dns settings$/],
  // [SRV-19]
  [{ store: 'etcd', 'etcd.endpoints': 'http://a:1,https://b:1' }, /^etcd\.endpoints .*: want all http or all https$/],
  [{ store: 'etcd', 'etcd.ca': pem }, /^etcd\.ca .*: want etcd\.endpoints with https as well$/],
  // [SRV-20]
  [
    { 'peering.address': '0.0.0.0:8503' },
    /^peering\.address .*: want peering\.advertise as well, because no peer can dial/,
  ],
  [
    { 'peering.address': '[::]:8503' },
    /^peering\.address from --peering-address is "\[::\]:8503": want peering\.advertise/,
  ],
  [{ 'peering.advertise': '[::]:8503' }, /^peering\.advertise .*: want addresses that other clusters can dial/],
  // [SRV-21]
  [
    { 'peering.heartbeat-timeout': '20s' },
    /^peering\.heartbeat-timeout .*: want at least twice peering\.heartbeat-interval/,
  ],
  // [SRV-22]
  [{ 'limits.body': '32 MiB' }, /^limits\.body .*: want at most limits\.bulk-body$/],
  [
    { 'limits.waiting': '10', 'limits.waiting-per-token': '11' },
    /^limits\.waiting-per-token .*: want at most limits\.waiting$/,
  ],
  // [SRV-23]
  [
    { 'http.address': '127.0.0.1:8503' },
    /^peering\.address from default .*: want another port than http\.address 127\.0\.0\.1:8503$/,
  ],
  [{ 'http.address': '0.0.0.0:8503' }, /^peering\.address from default .*: want another port/],
  [
    { 'dns.address': '127.0.0.1:8500' },
    /^dns\.address .*: want another port than 127\.0\.0\.1:8500, which a listener uses$/,
  ],
  // [SRV-24]
  [
    { 'http.tls-cert': `${pem}.missing`, 'http.tls-key': pem },
    /^http\.tls-cert .*: want a file that can be read \(ENOENT\)$/,
  ],
];

for (const [flags, message] of refused) {
  test(`loadConfig rejects ${JSON.stringify(flags).replaceAll(folder, '')} [SRV-16]`, async () => {
    await assert.rejects(load(flags), { name: 'ConfigError', message });
  });
}

/** Settings that are similar to the ones above and valid. */
const accepted: readonly Readonly<Record<string, string>>[] = [
  { services: 'team-access', 'peering.address': '0.0.0.0:8503' },
  { services: 'team-access', 'http.address': '127.0.0.1:8503' },
  { 'peering.address': '0.0.0.0:8503', 'peering.advertise': 'accord.example:8503' },
  { 'http.address': '127.0.0.1:0', 'peering.address': '127.0.0.1:0', 'dns.address': '127.0.0.1:0' },
  { 'http.address': '127.0.0.2:8503' },
  { 'limits.waiting': '10' },
  { ...https, 'etcd.cert': pem, 'etcd.key': pem, 'etcd.ca': pem },
];

for (const flags of accepted) {
  test(`loadConfig accepts ${JSON.stringify(flags).replaceAll(folder, '')}`, async () => {
    await load(flags);
  });
}

/** Settings and their warnings. */
const warned: readonly (readonly [Readonly<Record<string, string>>, readonly RegExp[]])[] = [
  [{}, []],
  [{ 'http.address': '0.0.0.0:8500' }, [/^http\.address 0\.0\.0\.0:8500 is not loopback and has no TLS/]],
  [{ 'http.address': 'accord.example:8500' }, [/^http\.address .* has no TLS/]],
  [{ 'http.address': '0.0.0.0:8500', 'http.tls-cert': pem, 'http.tls-key': pem }, []],
  [{ 'http.address': 'localhost:8500' }, []],
  [{ 'acl.enabled': 'false', 'acl.default-policy': 'allow' }, [/^acl\.enabled is false/]],
  [{ 'acl.default-policy': 'allow' }, [/^acl\.default-policy is allow/]],
  [
    { 'peering.address': '0.0.0.0:8503', 'peering.advertise': 'a:1,[::1]:8503' },
    [/^peering\.advertise \[::1\]:8503 is loopback/],
  ],
  [{ 'peering.advertise': '127.0.0.1:9000' }, []],
];

for (const [flags, expected] of warned) {
  // Verifies [SRV-25].
  test(`loadConfig gives ${expected.length === 0 ? 'no warning' : 'one warning'} for ${JSON.stringify(flags).replaceAll(folder, '')}`, async () => {
    const { warnings } = await load(flags);
    assert.equal(warnings.length, expected.length, warnings.join('\n'));
    for (const [i, pattern] of expected.entries()) assert.match(warnings[i] ?? '', pattern);
  });
}
