import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { createSecretStore } from '../record/encrypted-secret.ts';
import { type Authority, rootKeyPlace, serverKeyPlace } from './authority.ts';
import { clusterName } from './cluster-name.ts';
import { createAuthority, issueServerCertificate } from './issue-certificates.ts';
import { BACKDATED_MS, ROOT_LIFE_MS, SERVER_LIFE_MS } from './limits.ts';
import { dial } from './trust.suite.ts';

const secrets = createSecretStore(undefined);
const name = clusterName('1b2c3d4e-0000-4000-8000-00000000000A', 'dc1');
const make = (nowMs = Date.now()): Promise<Authority> => createAuthority({ name, secrets, nowMs });
const served = ({ id, server }: Authority) => ({
  cert: server.certificate,
  key: secrets.decrypt(server.key, serverKeyPlace(id)),
});

test('createAuthority issues a CA root that can sign leaf certificates only, with the trust domain as its SPIFFE ID', async () => {
  const { id, root } = await make();
  const certificate = new X509Certificate(root.certificate);
  assert.equal(certificate.ca, true);
  assert.equal(certificate.subjectAltName, 'URI:spiffe://1b2c3d4e-0000-4000-8000-00000000000a.accord');
  assert.equal(certificate.checkIssued(certificate), true);
  assert.equal(certificate.verify(certificate.publicKey), true);
  assert.equal(certificate.checkPrivateKey(createPrivateKey(secrets.decrypt(root.key, rootKeyPlace(id)))), true);
  assert.equal(root.fingerprint, certificate.fingerprint256);
  assert.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1');
  assert.ok(root.certificate.endsWith('-----END CERTIFICATE-----\n'));
});

test('createAuthority issues a server certificate with the server name as its only name [PEER-84]', async () => {
  const { root, server } = await make();
  const certificate = new X509Certificate(server.certificate);
  assert.equal(certificate.ca, false);
  assert.equal(certificate.subjectAltName, `DNS:${name.serverName}`);
  assert.equal(certificate.checkIssued(new X509Certificate(root.certificate)), true);
});

test('createAuthority issues certificates that are valid one hour before their creation [PEER-84]', async () => {
  const nowMs = Date.UTC(2030, 0, 1, 12, 0, 0, 0);
  const { root, server } = await make(nowMs);
  for (const [issued, lifeMs] of [
    [root, ROOT_LIFE_MS],
    [server, SERVER_LIFE_MS],
  ] as const) {
    const { validFromDate, validToDate } = new X509Certificate(issued.certificate);
    assert.equal(validFromDate.getTime(), nowMs - BACKDATED_MS);
    assert.equal(validToDate.getTime(), nowMs + lifeMs);
    assert.deepEqual([issued.notBefore, issued.notAfter], [validFromDate.toISOString(), validToDate.toISOString()]);
  }
});

test('issueServerCertificate uses a new key under the same root', async () => {
  const authority = await make();
  const server = await issueServerCertificate(authority, { name, secrets, nowMs: Date.now() });
  const [old, renewed] = [authority.server, server].map(({ certificate }) => new X509Certificate(certificate));
  assert.notDeepEqual(old?.publicKey.export({ format: 'jwk' }), renewed?.publicKey.export({ format: 'jwk' }));
  assert.notEqual(old?.serialNumber, renewed?.serialNumber);
  assert.equal(await dial(served({ ...authority, server }), [authority.root.certificate], name.serverName), 'h2');
});

test('a server name with the longest datacenter passes verification', async () => {
  const long = clusterName('1b2c3d4e-0000-4000-8000-00000000000a', 'd'.repeat(63));
  const authority = await createAuthority({ name: long, secrets, nowMs: Date.now() });
  assert.equal(await dial(served(authority), [authority.root.certificate], long.serverName), 'h2');
});

test('clients that trust two roots find the issuer in either order', async () => {
  const [one, two] = [await make(), await make()];
  const roots = [one.root.certificate, two.root.certificate];
  for (const authority of [one, two]) {
    assert.equal(await dial(served(authority), roots, name.serverName), 'h2');
    assert.equal(await dial(served(authority), roots.toReversed(), name.serverName), 'h2');
  }
});

/** A second implementation of X.509 besides Node's. LibreSSL has the same command name and other options. */
const OPENSSL = 'openssl';
const { stdout: version } = spawnSync(OPENSSL, ['version'], { encoding: 'utf8' });

describe('openssl', {
  skip: /^OpenSSL [3-9]/.test(version ?? '') ? false : 'OpenSSL 3 or later is not installed',
}, () => {
  test('verifies the chain in strict mode, and rejects another server name', async () => {
    await using folder = await temporaryDirectory();
    const file = (base: string): string => path.join(folder.path, base);
    const { root, server } = await make();
    await Promise.all([writeFile(file('root'), root.certificate), writeFile(file('server'), server.certificate)]);
    const verify = (hostname: string): number | null =>
      spawnSync(OPENSSL, [
        ...['verify', '-x509_strict', '-purpose', 'sslserver', '-verify_hostname', hostname],
        ...['-CAfile', file('root'), '-no-CApath', '-no-CAstore', file('server')],
      ]).status;
    assert.equal(verify(name.serverName), 0);
    assert.notEqual(verify('other.test'), 0);
    const text = execFileSync(OPENSSL, ['x509', '-in', file('root'), '-noout', '-text'], { encoding: 'utf8' });
    assert.match(text, /Basic Constraints: critical\n\s+CA:TRUE, pathlen:0\n/);
    assert.match(text, /Key Usage: critical\n\s+Digital Signature, Certificate Sign, CRL Sign\n/);
    assert.match(text, /Subject Key Identifier: \n/);
  });
});
