/** A whole state moves between engines by export and import: everything is there, or nothing was changed. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { auditLog } from '../../src/audit/record.ts';
import { SCHEMA } from '../../src/main/schema.ts';
import { systemClock } from '../../src/state/clock/clock.ts';
import { State } from '../../src/state/state.ts';
import { dataKeyCipher, type TextCipher } from '../../src/state/transfer/encryption.ts';
import { ImportError, openExportFile } from '../../src/state/transfer/export-file.ts';
import { importExport } from '../../src/state/transfer/import.ts';
import { startApi } from '../support/process/api.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { type Server, type ServerOptions, StartError, startServer } from '../support/process/server.ts';
import { openState } from '../support/state/state.ts';
import { etcdStore, sqliteStore, type TestStore } from '../support/state/store.ts';
import { skipWithout } from '../support/tools.ts';

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

const importing = (file: string, passphrase: string | null = 'passphrase'): string[] => [
  ...['--import-file', file],
  ...(passphrase === null ? [] : ['--import-passphrase-file', inFolder(passphrase)]),
];

/** The log of a server that must not start, and ends with 1. */
async function failedStart(options: ServerOptions): Promise<string> {
  try {
    await using server = await startServer(options);
    return assert.fail(`it started: ${server.log()}`);
  } catch (error) {
    assert.ok(error instanceof StartError, String(error));
    assert.equal(error.exitCode, 1);
    return error.log;
  }
}

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

/** A row of an export that somebody has written by hand. */
type Forgery = readonly [what: string, words: RegExp, edit: (row: Readonly<Record<string, unknown>>) => unknown];

/** What is stored becomes another. */
const stored =
  (value: unknown): Forgery[2] =>
  (row) => ({ ...row, value: JSON.stringify(value) });

const CHANGED = /^'.*': row 'eu' of table 'partitions' is not a valid row of that table: it was changed$/;

/** Edits the row of the partition `eu`, moves it to the third line, and makes the checksum good again. */
const forged =
  (edit: Forgery[2]) =>
  (whole: string): string => {
    const lines = whole.trimEnd().split('\n').slice(0, -1);
    const at = lines.findIndex((line) => line.startsWith('{"table":"partitions","key":"eu"'));
    const [row = ''] = lines.splice(at, 1);
    const edited = edit(JSON.parse(row) as Record<string, unknown>);
    lines.splice(2, 0, typeof edited === 'string' ? edited : JSON.stringify(edited));
    const before = `${lines.join('\n')}\n`;
    const end = { rows: lines.length - 1, sha256: createHash('sha256').update(before).digest('hex') };
    return `${before}${JSON.stringify(end)}\n`;
  };

describe('an import that cannot be whole', () => {
  const right = dataKeyCipher(Buffer.alloc(32, 1));
  const wrong = dataKeyCipher(Buffer.alloc(32, 2));
  let text = '';
  let etcd: EtcdCluster | undefined;
  before(async () => {
    await using api = await startApi({ dataKey: right });
    await api.makePartitions('eu');
    text = (await api.request('GET', '/v1/operator/export')).text;
    if (skipWithout('etcd') === false) etcd = await startEtcd();
  });
  after(() => etcd?.[Symbol.asyncDispose]());

  interface Damage {
    readonly what: string;
    readonly edit?: (text: string) => string;
    readonly sealer?: TextCipher;
    readonly words: RegExp;
  }
  const damages: readonly Damage[] = [
    { what: 'another key', sealer: wrong, words: /cannot be decrypted: another passphrase or data key was used$/ },
    {
      what: 'a changed character',
      edit: (whole) => whole.replace('Built in', 'Built on'),
      words: /^the checksum of '.*' does not match: it was changed or damaged$/,
    },
    {
      what: 'a row left out',
      edit: (whole) => whole.replace(/\{"table":"audit".*\n/, ''),
      words: /^the checksum of '.*' does not match: /,
    },
    {
      what: 'two rows that changed places',
      edit: (whole) => whole.replace(/(\{"table":"audit".*\n)(\{"table":"audit".*\n)/, '$2$1'),
      words: /^the checksum of '.*' does not match: /,
    },
    {
      what: 'a sealed row under another key',
      edit: (whole) => whole.replace(/"key":"[^"]*","sealed"/, '"key":"mine","sealed"'),
      words: /^row 'mine' of 'acl-tokens' cannot be decrypted: /,
    },
    {
      what: 'no end',
      edit: (whole) => whole.slice(0, whole.trimEnd().lastIndexOf('\n') + 1),
      words: /' ends without its checksum: it is not complete$/,
    },
    {
      what: 'half a line at its end',
      edit: (whole) => whole.slice(0, whole.length / 2),
      words: /' has a line that is not JSON: it is damaged or cut off$/,
    },
    { what: 'something after its end', edit: (whole) => `${whole}{}\n`, words: /' continues after its checksum$/ },
    {
      what: 'a later format',
      edit: (whole) => whole.replace('"version":1', '"version":2'),
      words: /' has format version 2, this version of Accord reads 1$/,
    },
    ...(
      [
        ['a line that is nothing', /^line 3 of '.*' is not a row of an export$/, () => 'null'],
        ['a line that is a list', /^line 3 of '.*' is not a row of an export$/, () => '[]'],
        ['a row without a key', /^line 3 of '.*' is not a row of an export$/, ({ table, value }) => ({ table, value })],
        ['a row of a later format', /has format 99, this version reads up to 1: a newer /, stored([99, 1, 1, {}])],
        ['a row that is no stored row', /is not a stored row: it is damaged$/, stored({ name: 'eu' })],
        ['a row that is not JSON', /is not JSON: it is damaged$/, (row) => ({ ...row, value: '[1,' })],
        ['a row of another shape', CHANGED, stored([1, 1, 1, { name: 5 }])],
        ['a row that is nothing', CHANGED, stored([1, 1, 1, null])],
        ['a row that stands under another key', CHANGED, stored([1, 1, 1, { name: 'us', description: '' }])],
        ['a row from the future', CHANGED, stored([1, 1, 2 ** 40, { name: 'eu', description: '' }])],
        [
          'a row of a table that is not known',
          /^'.*' has rows of a table 'new-things', which this version of Accord does not know: /,
          (row) => ({ ...row, table: 'new-things' }),
        ],
      ] as const satisfies readonly Forgery[]
    ).map(([what, words, edit]) => ({ what, words, edit: forged(edit) })),
    { what: 'a header that is nothing', edit: () => 'null\n', words: /^'.*' is not an export of Accord$/ },
    {
      what: 'a header without its parts',
      edit: (whole) => whole.replace(/"leftOut":\{.*?\}/, '"leftOut":null'),
      words: /^'.*' has a header with missing or invalid fields$/,
    },
    { what: 'something else in it', edit: () => 'hello\n', words: /^'.*' is not an export of Accord/ },
    { what: 'nothing in it', edit: () => '', words: /^'.*' is not an export of Accord/ },
  ];

  async function refusesAll(store: TestStore): Promise<void> {
    for (const [i, { what, edit = (whole: string) => whole, sealer = right, words }] of damages.entries()) {
      const file = inFolder(`damaged-${i}`);
      const damaged = edit(text);
      assert.ok(damaged !== text || sealer !== right, `${what}: nothing was changed`);
      await writeFile(file, damaged);
      const options = { schema: SCHEMA, node: 'a', clock: systemClock, rowsMax: 1_000, log: () => undefined };
      await using state = State.create({ ...options, engine: store.engine() });
      const start = state.start(async (engine) => {
        await using exported = await openExportFile(file);
        const { signal } = new AbortController();
        await importExport(exported, { engine, schema: SCHEMA, cipherFor: async () => sealer, signal });
      });
      await assert.rejects(start, (error) => {
        assert.ok(error instanceof ImportError, `${what}: ${String(error)}`);
        assert.match(error.message, words, what);
        return true;
      });
    }
    await using state = await openState(store.engine(), { schema: SCHEMA });
    assert.equal(state.snapshot.rowCount, 0);
    assert.deepEqual(await state.scan(auditLog, { limit: 1 }, new AbortController().signal), []);
  }

  test('leaves SQLite empty, and says what is wrong', async () => {
    await using store = await sqliteStore();
    await refusesAll(store);
  });

  test('leaves etcd empty, and says what is wrong', { skip: skipWithout('etcd') }, async () => {
    assert.ok(etcd !== undefined);
    await using store = await etcdStore(etcd);
    await refusesAll(store);
  });

  test('ends the server with a line, and the next start finds an empty store', async () => {
    let good: string;
    {
      await using server = await startServer();
      good = await exportFrom(server, server.token, 'good');
    }
    const dataDirectory = await mkdtemp(inFolder('data-'));
    const tries = [
      ['other-passphrase', /cannot be decrypted: another passphrase or data key was used$/],
      [null, /is encrypted with a passphrase: name a file that holds it with --import-passphrase-file$/],
    ] as const;
    for (const [passphrase, words] of tries) {
      const log = await failedStart({ dataDirectory, args: importing(good, passphrase) });
      const lines = log.split('\n').filter((line) => line.includes('"level":"error"'));
      assert.equal(lines.length, 1, log);
      assert.match((JSON.parse(lines[0] ?? '') as { msg: string }).msg, words);
    }
    await using server = await startServer({ dataDirectory });
    assert.equal((await server.request('GET', '/v1/partitions')).json<unknown[]>().length, 1);
  });

  test('leaves a state that is there as it is', async () => {
    const dataDirectory = await mkdtemp(inFolder('data-'));
    const file = inFolder('sealed-by-key');
    await writeFile(file, text);
    await writeFile(inFolder('right-key'), Buffer.alloc(32, 1).toString('base64'));
    const settings = { 'data-key-file': inFolder('right-key') };
    let there: Awaited<ReturnType<typeof view>>;
    {
      await using server = await startServer({ dataDirectory, settings });
      await server.request('PUT', '/v1/partition/mine', { body: {} });
      there = await view(server, server.token);
    }
    const refusal = await failedStart({ dataDirectory, settings, args: importing(file, null) });
    assert.match(refusal, /cannot import '.*', .*already holds a state: if .* start without --import-file/);
    await using server = await startServer({ dataDirectory, settings });
    assert.deepEqual((await view(server, server.token)).texts, there.texts);
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
  await using second = await startServer({ args: importing(file, null) });
  const names = (await second.request('GET', '/v1/partitions')).json<{ Name: string }[]>();
  assert.deepEqual(
    names.map(({ Name }) => Name),
    ['default', 'eu'],
  );
  assert.match(second.log(), /"table":"acl-tokens","count":1,.*"msg":"rows with secrets are missing from the export/);
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
  const args = importing(inFolder('by-key'), null);
  assert.match(await failedStart({ args }), /is encrypted with a data key: set data-key-file to the one of the export/);
  const words = /cannot be decrypted: another passphrase or data key was used/;
  assert.match(await failedStart({ settings: withKey('other-key'), args }), words);
  await using second = await startServer({ settings: withKey('key'), args });
  assert.equal((await second.request('GET', '/v1/acl/token/self', { token })).status, 200);
});
