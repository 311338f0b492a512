import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runCli, startStubServer } from '../../../test/support/process/cli-harness.ts';
import { resolveConnection } from './connection.ts';

const folder = mkdtempSync(join(tmpdir(), 'accord-connection-'));
after(() => rmSync(folder, { recursive: true }));

let fileCount = 0;
function write(content: string): string {
  const path = join(folder, `file-${fileCount++}`);
  writeFileSync(path, content);
  return path;
}

/** Creates a data folder with first credentials for the server at `address`. */
function dataDirOf(address: string, secretId = 'first-secret'): string {
  const path = join(folder, `data-${fileCount++}`);
  mkdirSync(path);
  const content = { address, peering: { accessorId: 'a', secretId }, teamAccess: { username: 'admin', token: 't' } };
  writeFileSync(join(path, 'credentials.json'), JSON.stringify(content));
  return path;
}

const list = ['partition', 'list'];

test('prefers options over environment variables [SRV-97, SRV-98]', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: [] }));
  const environment = { ACCORD_ADDRESS: address, ACCORD_TOKEN: 'from-variable' };
  await runCli(list, { environment });
  await runCli([...list, '--acl-token-file', write('from-file\n')], { environment });
  const elsewhere = { ...environment, ACCORD_ADDRESS: 'http://127.0.0.1:1' };
  await runCli([...list, '--address', address], { environment: elsewhere });
  assert.deepEqual(
    requests.map(({ headers }) => headers['x-service-token']),
    ['from-variable', 'from-file', 'from-variable'],
  );
});

test('accepts an address without a scheme and with a path [SRV-97]', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: [] }));
  await runCli([...list, '--address', address.replace('http://', '')]);
  await runCli([...list, '--address', `${address}/proxied/`]);
  assert.deepEqual(
    requests.map(({ path }) => path),
    ['/v1/partitions', '/proxied/v1/partitions'],
  );
});

test('uses the first credentials for their own server if no token is given [SRV-98]', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: [] }));
  const dataDir = dataDirOf(address);
  await runCli([...list, '--data-dir', dataDir]);
  await runCli(list, { environment: { ACCORD_DATA_DIR: dataDir, ACCORD_ADDRESS: `${address}/`, ACCORD_TOKEN: '' } });
  assert.deepEqual(
    requests.map(({ headers }) => headers['x-service-token']),
    ['first-secret', 'first-secret'],
  );
});

test('neither sends first credentials to another server nor uses their address for another token', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: [] }));
  const dataDir = dataDirOf('http://127.0.0.1:1');
  await runCli([...list, '--address', address, '--data-dir', dataDir]);
  assert.equal(requests[0]?.headers['x-service-token'], undefined);
  const environment = { ACCORD_TOKEN: 'mine', ACCORD_DATA_DIR: dataDirOf(address) };
  assert.equal(resolveConnection({ environment }, {}).address, 'http://127.0.0.1:8500');
});

test('rejects a credentials file without credentials [SRV-98]', async () => {
  const dataDir = join(folder, 'damaged');
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, 'credentials.json'), '{}');
  const { exitCode, stderr } = await runCli([...list, '--data-dir', dataDir]);
  assert.equal(exitCode, 2);
  assert.match(stderr, /damaged\/credentials\.json contains no first credentials/);
});

test('rejects an invalid address, token, or file without printing the token', async () => {
  const invalid: readonly (readonly [readonly string[], Record<string, string>, RegExp])[] = [
    [['--address', 'ftp://a'], {}, /invalid address "ftp:\/\/a": want a URL such as http:/],
    [['--address', 'http://user@a'], {}, /invalid address/],
    [['--acl-token-file', '/no/such/file'], {}, /cannot read the secret from \/no\/such\/file: ENOENT/],
    [['--acl-token-file', write('')], {}, /must contain exactly one line/],
    [['--acl-token-file', write('s3cret\ns3cret')], {}, /must contain exactly one line/],
    [['--acl-token-file', write('x'.repeat(5000))], {}, /has 5000 bytes; the limit is 4096/],
    [['--ca-file', '/no/such/file'], {}, /cannot read the certificates from/],
    [[], { ACCORD_TOKEN: 's3cret s3cret' }, /the token must consist of printable characters without spaces/],
  ];
  for (const [args, environment, message] of invalid) {
    const { exitCode, stdout, stderr } = await runCli([...list, ...args], { environment });
    assert.deepEqual([exitCode, stdout], [2, ''], args.join(' '));
    assert.match(stderr, message);
    assert.doesNotMatch(stderr, /s3cret/);
  }
});

test('has no option that takes a token [SRV-99]', async () => {
  const { exitCode, stderr } = await runCli([...list, '--token', 's3cret']);
  assert.equal(exitCode, 2);
  assert.match(stderr, /unknown option '--token'/);
});

test('names the source of a token that the server does not know', async (t) => {
  const { address } = await startStubServer(t, () => ({ status: 403, body: 'ACL not found' }));
  const dataDir = dataDirOf(address);
  const file = write('unknown');
  const found: readonly (readonly [from: string, args: readonly string[], environment: Record<string, string>])[] = [
    ['ACCORD_TOKEN', [], { ACCORD_TOKEN: 'unknown' }],
    [file, ['--acl-token-file', file], {}],
    [join(dataDir, 'credentials.json'), ['--data-dir', dataDir], {}],
  ];
  for (const [from, args, environment] of found) {
    const { exitCode, stderr } = await runCli([...list, '--address', address, ...args], { environment });
    assert.equal(exitCode, 1);
    assert.equal(stderr, `accord: ACL not found (the token from ${from} is unknown to the server or has expired)\n`);
  }
});
