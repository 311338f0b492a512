import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { accord, type Reply, startServer } from '../../../../test/support/process/cli-harness.ts';
import { apiPath } from './api.ts';
import { RATE_TRIES_MAX } from './limits.ts';

const folder = mkdtempSync(join(tmpdir(), 'accord-api-'));
after(() => rmSync(folder, { recursive: true }));

const LIST = ['workspace', 'list', 'acme'];
const errors = (status: number, ...faults: readonly object[]): Reply => ({
  status,
  body: { errors: faults.map((fault) => ({ status: String(status), ...fault })) },
});

test('a request declares what it is and who asks', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: { data: [] } }));
  await accord(LIST, { environment: { ACCORD_ADDRESS: address, ACCORD_API_TOKEN: 'mine', ACCORD_TOKEN: 'other' } });
  await accord(['workspace', 'delete', 'acme/main', '--address', address]);
  const [list, remove] = requests;
  assert.equal(list?.path, '/api/v2/organizations/acme/workspaces?page%5Bsize%5D=100&page%5Bnumber%5D=1');
  assert.equal(list.headers.authorization, 'Bearer mine');
  assert.equal(list.headers.accept, 'application/vnd.api+json');
  assert.equal(list.headers['x-service-token'], undefined);
  assert.equal(remove?.headers['content-type'], 'application/vnd.api+json');
  assert.equal(remove.headers.authorization, undefined);
});

test('a token comes from a file, from its variable, or from the first credentials of this very server', async (t) => {
  const { address, requests } = await startServer(t, () => ({ body: { data: [] } }));
  const file = join(folder, 'token');
  writeFileSync(file, 'from-file\n');
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  const credentials = { address, peering: { secretId: 's' }, teamAccess: { username: 'admin', token: 'first' } };
  writeFileSync(join(dataDir, 'credentials.json'), JSON.stringify(credentials));
  const other = await startServer(t, () => ({ body: { data: [] } }));
  await accord([...LIST, '--api-token-file', file, '--address', address]);
  await accord(LIST, { environment: { ACCORD_API_TOKEN: 'from-variable', ACCORD_ADDRESS: address } });
  await accord([...LIST, '--data-dir', dataDir]);
  await accord([...LIST, '--data-dir', dataDir, '--address', other.address]);
  assert.deepEqual(
    [...requests, ...other.requests].map(({ headers }) => headers.authorization),
    ['Bearer from-file', 'Bearer from-variable', 'Bearer first', undefined],
  );
});

test('no option takes a token itself', async () => {
  for (const option of ['--token', '--api-token']) {
    const { exitCode, stderr } = await accord([...LIST, option, 's3cret']);
    assert.equal(exitCode, 2);
    assert.doesNotMatch(stderr, /s3cret/);
  }
});

test('every page of a list is read', async (t) => {
  const workspace = (name: string) => ({ id: `ws-${name}`, attributes: { name, description: null } });
  const { address, requests } = await startServer(t, ({ path }) => {
    const number = Number(new URL(path, 'http://a').searchParams.get('page[number]'));
    const next = number < 3 ? number + 1 : null;
    return { body: { data: [workspace(`w${number}`)], meta: { pagination: { 'next-page': next } } } };
  });
  const { stdout } = await accord([...LIST, '--address', address]);
  assert.equal(stdout, 'NAME  ID     DESCRIPTION\nw1    ws-w1\nw2    ws-w2\nw3    ws-w3\n');
  assert.equal(requests.length, 3);
});

test('a refusal is told with title, detail and place, each on a line', async (t) => {
  const { address } = await startServer(t, () =>
    errors(
      422,
      { title: 'invalid attribute', detail: 'Name is bad\u001b[2J', source: { pointer: '/data/attributes/name' } },
      { title: 'invalid attribute', detail: 'page is bad', source: { parameter: 'page[size]' } },
      { title: 'forbidden' },
    ),
  );
  const { exitCode, stderr } = await accord([...LIST, '--address', address]);
  assert.equal(exitCode, 1);
  assert.deepEqual(stderr.trimEnd().split('\n'), [
    'accord: invalid attribute: Name is bad\\x1b[2J (/data/attributes/name)',
    'invalid attribute: page is bad (page[size])',
    'forbidden',
  ]);
});

test('a 404 names what was asked for, and says that it may be hidden; a read and a change differ', async (t) => {
  const { address } = await startServer(t, () => errors(404, { title: 'not found' }));
  const words = async (...args: string[]) => (await accord([...args, '--address', address])).stderr;
  assert.equal(await words(...LIST), 'accord: organization acme: not found, or you may not see it\n');
  assert.equal(
    await words('workspace', 'delete', 'acme/main'),
    'accord: workspace acme/main: not found, or you may not change it\n',
  );
});

test('a 404 that is not of the API is told as it is', async (t) => {
  const { address } = await startServer(t, () => ({ status: 404, body: 'no such page' }));
  assert.equal((await accord([...LIST, '--address', address])).stderr, 'accord: no such page\n');
});

test('a token that is not good is told with where it was found', async (t) => {
  const { address } = await startServer(t, () => errors(401, { title: 'unauthorized' }));
  const environment = { ACCORD_ADDRESS: address, ACCORD_API_TOKEN: 'x' };
  assert.equal(
    (await accord(LIST, { environment })).stderr,
    'accord: unauthorized (the token from ACCORD_API_TOKEN is unknown to the server, or has expired)\n',
  );
  assert.match(
    (await accord([...LIST, '--address', address])).stderr,
    /^accord: unauthorized \(no token was sent: set ACCORD_API_TOKEN, or run where/,
  );
});

test('the rate limit is waited for as long as it says, and not for ever', async (t) => {
  const limited = {
    ...errors(429, { title: 'too many requests', detail: 'more than 30' }),
    headers: { 'retry-after': '2' },
  };
  let left = 2;
  const busy = await startServer(t, () => (left-- > 0 ? limited : { body: { data: [] } }));
  const pauses: number[] = [];
  const pause = (ms: number): Promise<void> => {
    pauses.push(ms);
    return Promise.resolve();
  };
  assert.equal((await accord([...LIST, '--address', busy.address], { pause })).exitCode, 0);
  assert.deepEqual(pauses, [2_000, 2_000]);

  const closed = await startServer(t, () => limited);
  const { exitCode, stderr } = await accord([...LIST, '--address', closed.address], { pause });
  assert.deepEqual([exitCode, stderr], [1, 'accord: too many requests: more than 30\n']);
  assert.equal(closed.requests.length, RATE_TRIES_MAX);

  const far = await startServer(t, () => ({ ...limited, headers: { 'retry-after': '3600' } }));
  assert.equal((await accord([...LIST, '--address', far.address], { pause })).exitCode, 1);
  assert.equal(far.requests.length, 1);
});

test('a server that is not there is not reachable', async () => {
  const { exitCode, stderr } = await accord([...LIST, '--address', 'http://127.0.0.1:1']);
  assert.equal(exitCode, 3);
  assert.match(stderr, /^accord: cannot reach http:\/\/127\.0\.0\.1:1/);
});

test('names are encoded, and what a URL would take for a step up is none', () => {
  assert.equal(apiPath('organizations', 'a/b ?#%2e'), '/organizations/a%2Fb%20%3F%23%252e');
  for (const name of ['', '.', '..']) assert.throws(() => apiPath('organizations', name), { code: 'usage' }, name);
});

test('names from a server cannot command the terminal', async (t) => {
  const { address } = await startServer(t, () => ({
    body: { data: [{ id: 'ws-1', attributes: { name: 'a\u001b[2Jb', description: '\u009b1m' } }] },
  }));
  const { stdout } = await accord([...LIST, '--address', address]);
  assert.match(stdout, /a\\x1b\[2Jb +ws-1 +\\x9b1m\n$/);
});
