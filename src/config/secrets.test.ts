import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { inspect } from 'node:util';
import { ConfigError } from './error.ts';
import { aclToken, dataKey, password, secretInFile, secretInVariable, userToken } from './secrets.ts';

const folder = mkdtempSync(join(tmpdir(), 'accord-secrets-'));
after(() => rmSync(folder, { recursive: true }));

const UUID = '7b0c1e0c-5d3c-4d0e-9d6b-2f1d3c4b5a69';
const USER_TOKEN = `${'a'.repeat(14)}.atlasv1.${'B'.repeat(67)}`;

test('dataKey accepts 32 bytes in base64 with and without padding', () => {
  const bytes = Buffer.alloc(32, 7);
  const text = Buffer.from(bytes).toString('base64');
  assert.deepEqual(dataKey.parse(text), bytes);
  assert.deepEqual(dataKey.parse(text.replace('=', '')), bytes);
  for (const bad of ['', 'x', `${text}AAAA`, Buffer.alloc(31).toString('base64'), text.replace('B', '*')]) {
    assert.equal(dataKey.parse(bad), undefined, bad);
  }
});

test('aclToken and userToken accept only their formats', () => {
  assert.equal(aclToken.parse(UUID), UUID);
  assert.equal(aclToken.parse(UUID.toUpperCase()), UUID.toUpperCase());
  assert.equal(aclToken.parse(UUID.slice(1)), undefined);
  assert.equal(userToken.parse(USER_TOKEN), USER_TOKEN);
  assert.equal(userToken.parse(USER_TOKEN.slice(1)), undefined);
  assert.equal(userToken.parse(USER_TOKEN.replace('atlasv1', 'atlasv2')), undefined);
  assert.equal(password.parse('with spaces '), 'with spaces ');
  assert.equal(password.parse('two\nlines'), undefined);
});

test('secretInFile reads the file on use and removes the trailing newline [SRV-14]', () => {
  const path = join(folder, 'token');
  const secret = secretInFile(aclToken, 'dns.token-file', path);
  assert.throws(() => secret.read(), /^ConfigError: dns\.token-file: cannot read the file .*token: ENOENT/);
  writeFileSync(path, `${UUID}\n`);
  assert.equal(secret.read(), UUID);
  assert.equal(secret.source, path);
});

test('read rejects an invalid secret without quoting it [SRV-14]', () => {
  const path = join(folder, 'bad');
  writeFileSync(path, 'hunter2');
  for (const secret of [
    secretInFile(aclToken, 'dns.token-file', path),
    secretInVariable(aclToken, 'ACCORD_X', 'hunter2'),
  ]) {
    assert.throws(
      secret.read,
      (error) => error instanceof ConfigError && /want a UUID/.test(error.message) && !/hunter2/.test(error.message),
    );
  }
});

test('secretInFile rejects a file that is too large [SRV-14]', () => {
  const path = join(folder, 'large');
  writeFileSync(path, 'x'.repeat(5000));
  assert.throws(secretInFile(password, 'etcd.password-file', path).read, /has 5000 bytes: want at most 4096/);
});

test('printing a secret shows only its source [SRV-14]', () => {
  const secret = secretInVariable(password, 'ACCORD_ETCD_PASSWORD', 'hunter2');
  assert.equal(secret.read(), 'hunter2');
  assert.equal(JSON.stringify(secret), '{"source":"ACCORD_ETCD_PASSWORD"}');
  assert.ok(!inspect(secret, { depth: 5 }).includes('hunter2'));
});
