/** A whole state moves between engines by export and import: everything is there, or nothing was changed. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type EtcdCluster, startEtcd } from './support/etcd.ts';
import { type Server, StartError, startServer } from './support/server.ts';
import { skipWithout } from './support/tools.ts';

const PASSPHRASE = 'correct horse battery staple';
const EPOCH_STEP = 2 ** 32;

let folder = '';
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'accord-move-'));
  await writeFile(path.join(folder, 'passphrase'), `${PASSPHRASE}\n`);
  await writeFile(path.join(folder, 'other-passphrase'), 'not the one it was made with\n');
});
after(() => rm(folder, { recursive: true, force: true }));

const inFolder = (name: string): string => path.join(folder, name);

/** Exports a server's state into a file, sealed. @returns the file */
async function exportFrom(server: Server, token: string, name: string): Promise<string> {
  const headers = { 'x-service-export-passphrase': Buffer.from(PASSPHRASE).toString('base64') };
  const answer = await server.request('GET', '/v1/operator/export', { token, headers });
  assert.equal(answer.status, 200, answer.text);
  await writeFile(inFolder(name), answer.text);
  return inFolder(name);
}

const importing = (file: string, passphrase: string | undefined = 'passphrase'): string[] => [
  ...['--import-file', file],
  ...(passphrase === undefined ? [] : ['--import-passphrase-file', inFolder(passphrase)]),
];

/** What clients see of a state. */
async function view(server: Server, token: string): Promise<{ readonly texts: string[]; readonly index: number }> {
  const paths = ['/v1/acl/tokens?partition=*', '/v1/partitions', '/v1/audit?limit=10000', '/v1/acl/token/self'];
  const answers = await Promise.all(paths.map((one) => server.request('GET', one, { token })));
  for (const answer of answers) assert.equal(answer.status, 200, answer.text);
  const index = Math.max(...answers.map(({ headers }) => Number(headers['x-service-index'] ?? 0)));
  return { texts: answers.map(({ text }) => text), index };
}

test('a state goes from SQLite to etcd and back with everything in it, and no index falls', {
  skip: skipWithout('etcd'),
}, async () => {
  await using etcd = await startEtcd();
  let token = '';
  let made = '';
  let atFirst: Awaited<ReturnType<typeof view>>;
  let file: string;
  {
    await using first = await startServer();
    token = first.token;
    await first.request('PUT', '/v1/partition/eu', { body: { Description: 'Europe' } });
    const body = { Partition: 'eu', Grants: [{ Resource: 'acl', Access: 'read' }] };
    made = (await first.request('PUT', '/v1/acl/token', { body })).json<{ SecretID: string }>().SecretID;
    atFirst = await view(first, token);
    file = await exportFrom(first, token, 'from-sqlite');
  }
  let atSecond: Awaited<ReturnType<typeof view>>;
  {
    const settings = { store: 'etcd', 'etcd.endpoints': etcd.first.url };
    await using second = await startServer({ settings, args: importing(file) });
    assert.equal(second.token, '', 'no credentials are made where there are some');
    atSecond = await view(second, token);
    assert.deepEqual(atSecond.texts, atFirst.texts);
    assert.ok(atSecond.index >= atFirst.index);
    // Who had the newest index of the first server is told of the next change, and not before.
    const waiting = second.request('GET', `/v1/partitions?index=${atSecond.index}&wait=20s`, { token });
    const put = await second.request('PUT', '/v1/partition/us', { token, body: {} });
    const { ModifyIndex } = put.json<{ ModifyIndex: number }>();
    assert.ok(ModifyIndex > atFirst.index + EPOCH_STEP);
    assert.equal((await waiting).json<unknown[]>().length, 3);
    atSecond = await view(second, token);
    file = await exportFrom(second, token, 'from-etcd');
  }
  await using third = await startServer({ args: importing(file) });
  const atThird = await view(third, token);
  assert.deepEqual(atThird.texts, atSecond.texts);
  assert.ok(atThird.index >= atSecond.index);
  assert.equal((await third.request('GET', '/v1/acl/tokens', { token: made })).json<unknown[]>().length, 1);
});

describe('an import that cannot be whole', () => {
  let good = '';
  let etcd: EtcdCluster | undefined;
  before(async () => {
    await using server = await startServer();
    await server.request('PUT', '/v1/partition/eu', { body: {} });
    good = await exportFrom(server, server.token, 'good');
    if (skipWithout('etcd') === false) etcd = await startEtcd();
  });
  after(() => etcd?.[Symbol.asyncDispose]());

  const edited = async (name: string, edit: (text: string) => string): Promise<string> => {
    const text = await readFile(good, 'utf8');
    const changed = edit(text);
    assert.notEqual(changed, text);
    await writeFile(inFolder(name), changed);
    return inFolder(name);
  };
  const cases: readonly (readonly [
    what: string,
    file: () => Promise<string>,
    passphrase: string | undefined,
    words: RegExp,
  ])[] = [
    [
      'another passphrase',
      async () => good,
      'other-passphrase',
      /cannot be unsealed: another passphrase or data key was used/,
    ],
    [
      'no passphrase',
      async () => good,
      undefined,
      /is encrypted with a passphrase: name a file that holds it with --import-passphrase-file/,
    ],
    [
      'a changed character',
      () => edited('changed', (text) => text.replace('"Built in"', '"Built on"')),
      'passphrase',
      /the checksum of '.*changed' does not match: it was changed or damaged/,
    ],
    [
      'a row left out',
      () => edited('shorter', (text) => text.replace(/\{"table":"audit".*\n/, '')),
      'passphrase',
      /the checksum of '.*shorter' does not match/,
    ],
    [
      'no end',
      () => edited('cut', (text) => text.slice(0, text.trimEnd().lastIndexOf('\n') + 1)),
      'passphrase',
      /'.*cut' ends without its checksum: it is not complete/,
    ],
    [
      'half a line at its end',
      () => edited('half', (text) => text.slice(0, text.length / 2)),
      'passphrase',
      /'.*half' has a line that is not JSON: it is damaged or cut off/,
    ],
    [
      'something else in it',
      () => edited('else', () => 'hello\n'),
      'passphrase',
      /'.*else' is not an export of Accord/,
    ],
    ['nothing in it', () => edited('empty', () => ''), 'passphrase', /'.*empty' is not an export of Accord/],
  ];

  /** Starts that must fail, and then one on the same store that must find it empty. */
  async function refuses(settings: Readonly<Record<string, string>>): Promise<void> {
    const dataDirectory = await mkdtemp(inFolder('data-'));
    for (const [what, file, passphrase, words] of cases) {
      const start = startServer({ dataDirectory, settings, args: importing(await file(), passphrase) });
      await assert.rejects(start, (error) => {
        assert.ok(error instanceof StartError, String(error));
        assert.equal(error.exitCode, 1, what);
        const lines = error.log
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as { level: string; msg: string });
        const complaints = lines.filter(({ level }) => level === 'error');
        assert.equal(complaints.length, 1, `${what}: ${error.log}`);
        assert.match(complaints[0]?.msg ?? '', words);
        return true;
      });
    }
    await using server = await startServer({ dataDirectory, settings });
    const names = (await server.request('GET', '/v1/partitions')).json<{ Name: string }[]>();
    assert.deepEqual(
      names.map(({ Name }) => Name),
      ['default'],
    );
    assert.equal((await server.request('GET', '/v1/acl/tokens')).json<unknown[]>().length, 1);
  }

  test('leaves SQLite empty, and says what is wrong in a line', () => refuses({}));

  test('leaves etcd empty, and says what is wrong in a line', { skip: skipWithout('etcd') }, () =>
    refuses({ store: 'etcd', 'etcd.endpoints': etcd?.first.url ?? '', 'node.lease': '2s' }),
  );

  test('leaves a state that is there as it is', async () => {
    const dataDirectory = await mkdtemp(inFolder('data-'));
    let before: Awaited<ReturnType<typeof view>>;
    {
      await using server = await startServer({ dataDirectory });
      await server.request('PUT', '/v1/partition/mine', { body: {} });
      before = await view(server, server.token);
    }
    await assert.rejects(startServer({ dataDirectory, args: importing(good) }), (error) => {
      assert.ok(error instanceof StartError);
      assert.equal(error.exitCode, 1);
      assert.match(error.log, /"level":"error".*empty/);
      return true;
    });
    await using server = await startServer({ dataDirectory });
    assert.deepEqual((await view(server, server.token)).texts, before.texts);
  });
});

test('an export without a key gives a state without credentials, whose first start makes new ones', async () => {
  let file: string;
  {
    await using first = await startServer();
    await first.request('PUT', '/v1/partition/eu', { body: {} });
    file = inFolder('unsealed');
    await writeFile(file, (await first.request('GET', '/v1/operator/export')).text);
  }
  await using second = await startServer({ args: importing(file, undefined) });
  const names = (await second.request('GET', '/v1/partitions')).json<{ Name: string }[]>();
  assert.deepEqual(
    names.map(({ Name }) => Name),
    ['default', 'eu'],
  );
  assert.match(second.log(), /"table":"acl-tokens","count":1,"msg":"rows with secrets were left out of the export/);
});

test('an export that is sealed with the data key needs the same key again', async () => {
  await writeFile(inFolder('key'), `${Buffer.alloc(32, 1).toString('base64')}\n`);
  await writeFile(inFolder('other-key'), `${Buffer.alloc(32, 2).toString('base64')}\n`);
  const withKey = (name: string) => ({ 'data-key-file': inFolder(name) });
  let token = '';
  {
    await using first = await startServer({ settings: withKey('key') });
    token = first.token;
    await writeFile(inFolder('by-key'), (await first.request('GET', '/v1/operator/export')).text);
  }
  const args = importing(inFolder('by-key'), undefined);
  const start = (settings: Readonly<Record<string, string>>) => startServer({ settings, args });
  await assert.rejects(start({}), /is encrypted with a data key: set data-key-file to the one of the exporting server/);
  await assert.rejects(start(withKey('other-key')), /cannot be unsealed: another passphrase or data key was used/);
  await using second = await start(withKey('key'));
  assert.equal((await second.request('GET', '/v1/acl/token/self', { token })).status, 200);
});
