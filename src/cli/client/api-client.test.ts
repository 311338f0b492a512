import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runCli, type StubResponse, startStubServer } from '../../../test/support/process/cli-harness.ts';
import { RATE_LIMIT_ATTEMPTS_MAX } from '../limits.ts';
import { apiPath } from './api-client.ts';

const folder = mkdtempSync(join(tmpdir(), 'accord-api-'));
after(() => rmSync(folder, { recursive: true }));

const LIST = ['workspace', 'list', 'acme'];
const errors = (status: number, ...details: readonly object[]): StubResponse => ({
  status,
  body: { errors: details.map((detail) => ({ status: String(status), ...detail })) },
});

test('requests carry the media type and the API token', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: { data: [] } }));
  await runCli(LIST, { environment: { ACCORD_ADDRESS: address, ACCORD_API_TOKEN: 'mine', ACCORD_TOKEN: 'other' } });
  await runCli(['workspace', 'delete', 'acme/main', '--yes', '--address', address]);
  const [list, remove] = requests;
  assert.equal(list?.path, '/api/v2/organizations/acme/workspaces?page%5Bsize%5D=100&page%5Bnumber%5D=1');
  assert.equal(list.headers.authorization, 'Bearer mine');
  assert.equal(list.headers.accept, 'application/vnd.api+json');
  assert.equal(list.headers['x-service-token'], undefined);
  assert.equal(remove?.headers['content-type'], 'application/vnd.api+json');
  assert.equal(remove.headers.authorization, undefined);
});

test('reads the token from a file, a variable, or the first credentials of the same server', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: { data: [] } }));
  const file = join(folder, 'token');
  writeFileSync(file, 'from-file\n');
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  const credentials = { address, peering: { secretId: 's' }, teamAccess: { username: 'admin', token: 'first' } };
  writeFileSync(join(dataDir, 'credentials.json'), JSON.stringify(credentials));
  const other = await startStubServer(t, () => ({ body: { data: [] } }));
  await runCli([...LIST, '--api-token-file', file, '--address', address]);
  await runCli(LIST, { environment: { ACCORD_API_TOKEN: 'from-variable', ACCORD_ADDRESS: address } });
  await runCli([...LIST, '--data-dir', dataDir]);
  const { exitCode, stderr } = await runCli([...LIST, '--data-dir', dataDir, '--address', other.address]);
  const reason = `is for ${address}, not for ${other.address}: give a file with a token instead`;
  assert.deepEqual([exitCode, stderr], [2, `accord: ${dataDir}/credentials.json, which --data-dir names, ${reason}\n`]);
  assert.deepEqual(
    [...requests, ...other.requests].map(({ headers }) => headers.authorization),
    ['Bearer from-file', 'Bearer from-variable', 'Bearer first'],
  );
});

test('has no option that takes a token [SRV-99]', async () => {
  for (const option of ['--token', '--api-token']) {
    const { exitCode, stderr } = await runCli([...LIST, option, 's3cret']);
    assert.equal(exitCode, 2);
    assert.doesNotMatch(stderr, /s3cret/);
  }
});

test('reads every page of a list', async (t) => {
  const workspace = (name: string) => ({ id: `ws-${name}`, attributes: { name, description: null } });
  const { address, requests } = await startStubServer(t, ({ path }) => {
    const number = Number(new URL(path, 'http://a').searchParams.get('page[number]'));
    const next = number < 3 ? number + 1 : null;
    return { body: { data: [workspace(`w${number}`)], meta: { pagination: { 'next-page': next } } } };
  });
  const { stdout } = await runCli([...LIST, '--address', address]);
  assert.equal(stdout, 'NAME  ID     DESCRIPTION\nw1    ws-w1\nw2    ws-w2\nw3    ws-w3\n');
  assert.equal(requests.length, 3);
});

test('prints each error with title, detail, and location on a line', async (t) => {
  const { address } = await startStubServer(t, () =>
    errors(
      422,
      { title: 'invalid attribute', detail: 'Name is bad\u001b[2J', source: { pointer: '/data/attributes/name' } },
      { title: 'invalid attribute', detail: 'page is bad', source: { parameter: 'page[size]' } },
      { title: 'forbidden' },
    ),
  );
  const { exitCode, stderr } = await runCli([...LIST, '--address', address]);
  assert.equal(exitCode, 1);
  assert.deepEqual(stderr.trimEnd().split('\n'), [
    'accord: invalid attribute: Name is bad\\x1b[2J (/data/attributes/name)',
    'invalid attribute: page is bad (page[size])',
    'forbidden',
  ]);
});

test('names the resource of a 404, with different texts for reads and changes', async (t) => {
  const { address } = await startStubServer(t, () => errors(404, { title: 'not found' }));
  const words = async (...args: string[]) => (await runCli([...args, '--address', address])).stderr;
  assert.equal(await words(...LIST), 'accord: organization acme: not found, or you may not see it\n');
  assert.equal(
    await words('workspace', 'delete', 'acme/main', '--yes'),
    'accord: workspace acme/main: not found, or you may not change it\n',
  );
});

test('prints the body of a 404 that is not an error document', async (t) => {
  const { address } = await startStubServer(t, () => ({ status: 404, body: 'no such page' }));
  assert.equal((await runCli([...LIST, '--address', address])).stderr, 'accord: no such page\n');
});

test('names the source of an invalid token', async (t) => {
  const { address } = await startStubServer(t, () => errors(401, { title: 'unauthorized' }));
  const environment = { ACCORD_ADDRESS: address, ACCORD_API_TOKEN: 'x' };
  assert.equal(
    (await runCli(LIST, { environment })).stderr,
    'accord: unauthorized (the token from ACCORD_API_TOKEN is unknown to the server or has expired)\n',
  );
  assert.match(
    (await runCli([...LIST, '--address', address])).stderr,
    /^accord: unauthorized \(no token was sent: set ACCORD_API_TOKEN, or name the directory/,
  );
});

test('waits for Retry-After, up to a number of attempts and a duration [SRV-108]', async (t) => {
  const limited = {
    ...errors(429, { title: 'too many requests', detail: 'more than 30' }),
    headers: { 'retry-after': '2' },
  };
  let rejections = 2;
  const busy = await startStubServer(t, () => (rejections-- > 0 ? limited : { body: { data: [] } }));
  const pauses: number[] = [];
  const pause = (ms: number): Promise<void> => {
    pauses.push(ms);
    return Promise.resolve();
  };
  assert.equal((await runCli([...LIST, '--address', busy.address], { pause })).exitCode, 0);
  assert.deepEqual(pauses, [2_000, 2_000]);

  const closed = await startStubServer(t, () => limited);
  const { exitCode, stderr } = await runCli([...LIST, '--address', closed.address], { pause });
  assert.deepEqual([exitCode, stderr], [1, 'accord: too many requests: more than 30\n']);
  assert.equal(closed.requests.length, RATE_LIMIT_ATTEMPTS_MAX);

  const far = await startStubServer(t, () => ({ ...limited, headers: { 'retry-after': '3600' } }));
  assert.equal((await runCli([...LIST, '--address', far.address], { pause })).exitCode, 1);
  assert.equal(far.requests.length, 1);
});

test('exits with 3 if the connection is refused', async () => {
  const { exitCode, stderr } = await runCli([...LIST, '--address', 'http://127.0.0.1:1']);
  assert.equal(exitCode, 3);
  assert.match(stderr, /^accord: cannot reach http:\/\/127\.0\.0\.1:1/);
});

test('apiPath encodes names and rejects dot segments', () => {
  assert.equal(apiPath('organizations', 'a/b ?#%2e'), '/organizations/a%2Fb%20%3F%23%252e');
  for (const name of ['', '.', '..']) assert.throws(() => apiPath('organizations', name), { code: 'usage' }, name);
});

test('escapes control characters in names', async (t) => {
  const { address } = await startStubServer(t, () => ({
    body: { data: [{ id: 'ws-1', attributes: { name: 'a\u001b[2Jb', description: '\u009b1m' } }] },
  }));
  const { stdout } = await runCli([...LIST, '--address', address]);
  assert.match(stdout, /a\\x1b\[2Jb +ws-1 +\\x9b1m\n$/);
});
