import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { accord, startServer } from '../../../test/support/process/cli-harness.ts';
import { resolveConnection } from './connection.ts';

const folder = mkdtempSync(join(tmpdir(), 'accord-connection-'));
after(() => rmSync(folder, { recursive: true }));

let fileCount = 0;
function write(content: string): string {
  const path = join(folder, `file-${fileCount++}`);
  writeFileSync(path, content);
  return path;
}

/** A data folder with first credentials of the server at `address`. */
function dataDirOf(address: string, secretId = 'first-secret'): string {
  const path = join(folder, `data-${fileCount++}`);
  mkdirSync(path);
  const content = { address, peering: { accessorId: 'a', secretId }, teamAccess: { username: 'admin', token: 't' } };
  writeFileSync(join(path, 'credentials.json'), JSON.stringify(content));
  return path;
}

const list = ['partition', 'list'];

test('address and token come from options, else from variables', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: [] }));
  const environment = { ACCORD_ADDRESS: address, ACCORD_TOKEN: 'from-variable' };
  await accord(list, { environment });
  await accord([...list, '--acl-token-file', write('from-file\n')], { environment });
  const elsewhere = { ...environment, ACCORD_ADDRESS: 'http://127.0.0.1:1' };
  await accord([...list, '--address', address], { environment: elsewhere });
  assert.deepEqual(
    requests.map(({ headers }) => headers['x-service-token']),
    ['from-variable', 'from-file', 'from-variable'],
  );
});

test('an address needs no scheme and may have a path', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: [] }));
  await accord([...list, '--address', address.replace('http://', '')]);
  await accord([...list, '--address', `${address}/proxied/`]);
  assert.deepEqual(
    requests.map(({ path }) => path),
    ['/v1/partitions', '/proxied/v1/partitions'],
  );
});

test('first credentials serve the server that they name when no token is given', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: [] }));
  const dataDir = dataDirOf(address);
  await accord([...list, '--data-dir', dataDir]);
  await accord(list, { environment: { ACCORD_DATA_DIR: dataDir, ACCORD_ADDRESS: `${address}/`, ACCORD_TOKEN: '' } });
  assert.deepEqual(
    requests.map(({ headers }) => headers['x-service-token']),
    ['first-secret', 'first-secret'],
  );
});

test('first credentials go to no other server, and give no address to a token that is given', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: [] }));
  const dataDir = dataDirOf('http://127.0.0.1:1');
  await accord([...list, '--address', address, '--data-dir', dataDir]);
  assert.equal(requests[0]?.headers['x-service-token'], undefined);
  const environment = { ACCORD_TOKEN: 'mine', ACCORD_DATA_DIR: dataDirOf(address) };
  assert.equal(resolveConnection({ environment }, {}).address, 'http://127.0.0.1:8500');
});

test('a credentials file that holds none is told', async () => {
  const dataDir = join(folder, 'damaged');
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, 'credentials.json'), '{}');
  const { exitCode, stderr } = await accord([...list, '--data-dir', dataDir]);
  assert.equal(exitCode, 2);
  assert.match(stderr, /damaged\/credentials\.json holds no first credentials/);
});

test('a bad address, token or file is wrong use, and a token is not repeated', async () => {
  const refused: readonly (readonly [readonly string[], Record<string, string>, RegExp])[] = [
    [['--address', 'ftp://a'], {}, /the address "ftp:\/\/a" is no URL such as http:/],
    [['--address', 'http://user@a'], {}, /is no URL/],
    [['--acl-token-file', '/no/such/file'], {}, /cannot read the secret in \/no\/such\/file: ENOENT/],
    [['--acl-token-file', write('')], {}, /must hold one line/],
    [['--acl-token-file', write('s3cret\ns3cret')], {}, /must hold one line/],
    [['--acl-token-file', write('x'.repeat(5000))], {}, /has 5000 bytes, want at most 4096/],
    [['--ca-file', '/no/such/file'], {}, /cannot read the certificates in/],
    [[], { ACCORD_TOKEN: 's3cret s3cret' }, /the token must be printable characters without spaces/],
  ];
  for (const [args, environment, message] of refused) {
    const { exitCode, stdout, stderr } = await accord([...list, ...args], { environment });
    assert.deepEqual([exitCode, stdout], [2, ''], args.join(' '));
    assert.match(stderr, message);
    assert.doesNotMatch(stderr, /s3cret/);
  }
});

test('no option takes a token itself', async () => {
  const { exitCode, stderr } = await accord([...list, '--token', 's3cret']);
  assert.equal(exitCode, 2);
  assert.match(stderr, /unknown option '--token'/);
});

test('a token that the server does not know is told with where it was found', async (t) => {
  const { address } = await startServer(t, () => ({ status: 403, body: 'ACL not found' }));
  const dataDir = dataDirOf(address);
  const file = write('unknown');
  const found: readonly (readonly [from: string, args: readonly string[], environment: Record<string, string>])[] = [
    ['ACCORD_TOKEN', [], { ACCORD_TOKEN: 'unknown' }],
    [file, ['--acl-token-file', file], {}],
    [join(dataDir, 'credentials.json'), ['--data-dir', dataDir], {}],
  ];
  for (const [from, args, environment] of found) {
    const { exitCode, stderr } = await accord([...list, '--address', address, ...args], { environment });
    assert.equal(exitCode, 1);
    assert.equal(stderr, `accord: ACL not found (the token from ${from} is unknown to the server, or has expired)\n`);
  }
});
