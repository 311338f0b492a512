/** Export and import between engines. An import applies the complete state or changes nothing. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { auditLog } from '../../src/audit/record.ts';
import { readCredentials } from '../../src/credentials/credentials-file.ts';
import { SCHEMA } from '../../src/main/schema.ts';
import { systemClock } from '../../src/state/clock/clock.ts';
import { State } from '../../src/state/state.ts';
import { dataKeyCipher, type TextCipher } from '../../src/state/transfer/encryption.ts';
import { ImportError, openExportFile } from '../../src/state/transfer/export-file.ts';
import { importExport } from '../../src/state/transfer/import.ts';
import { teams } from '../../src/team-access/tables/team.ts';
import { startApi } from '../support/process/api.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { type Server, type ServerOptions, StartError, startServer } from '../support/process/server.ts';
import { openState } from '../support/state/state.ts';
import { etcdStore, sqliteStore, type TestStore } from '../support/state/store.ts';
import { makeTeam, makeUser } from '../support/team-access/organization-fixture.ts';
import { makeOrganization } from '../support/team-access/team-access.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
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

/** Exports a server's state into a file that is encrypted with the passphrase. @returns the path of the file */
async function exportFrom(server: Server, token: string, name: string): Promise<string> {
  const headers = { 'x-service-export-passphrase': Buffer.from(PASSPHRASE).toString('base64') };
  const answer = await server.request('GET', '/v1/operator/export', { token, headers });
  assert.equal(answer.status, 200, answer.text);
  await writeFile(inFolder(name), answer.text);
  return inFolder(name);
}

const importArgs = (file: string, passphrase: string | null = 'passphrase'): string[] => [
  ...['--import-file', file],
  ...(passphrase === null ? [] : ['--import-passphrase-file', inFolder(passphrase)]),
];

/** Starts a server that must exit with code 1. @returns its log */
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

/** Reads the tokens, partitions and audit log over the API. */
async function readAll(server: Server, token: string): Promise<{ readonly texts: string[]; readonly index: number }> {
  const paths = ['/v1/acl/tokens?partition=*', '/v1/partitions', '/v1/audit?limit=10000', '/v1/acl/token/self'];
  const answers = await Promise.all(paths.map((one) => server.request('GET', one, { token })));
  for (const answer of answers) assert.equal(answer.status, 200, answer.text);
  const index = Math.max(...answers.map(({ headers }) => Number(headers['x-service-index'] ?? 0)));
  return { texts: answers.map(({ text }) => text), index };
}

// Verifies [STATE-99] [SRV-28].
test('an export moves a state from SQLite to etcd and back without loss, and no index decreases [SRV-49, SRV-51]', {
  skip: skipWithout('etcd'),
}, async () => {
  await using etcd = await startEtcd();
  let token = '';
  let made = '';
  let atFirst: Awaited<ReturnType<typeof readAll>>;
  let file: string;
  {
    await using first = await startServer();
    token = first.token;
    await first.request('PUT', '/v1/partition/eu', { body: { Description: 'Europe' } });
    const body = { Partition: 'eu', Grants: [{ Resource: 'acl', Access: 'read' }] };
    made = (await first.request('PUT', '/v1/acl/token', { body })).json<{ SecretID: string }>().SecretID;
    atFirst = await readAll(first, token);
    file = await exportFrom(first, token, 'from-sqlite');
  }
  let atSecond: Awaited<ReturnType<typeof readAll>>;
  {
    const settings = { store: 'etcd', 'etcd.endpoints': etcd.first.url };
    await using second = await startServer({ settings, args: importArgs(file) });
    assert.equal(second.token, '', 'the start creates no credentials, because the import contains some');
    atSecond = await readAll(second, token);
    assert.deepEqual(atSecond.texts, atFirst.texts);
    assert.ok(atSecond.index >= atFirst.index);
    // A client with the newest index of the first server waits for the next change.
    const waiting = second.request('GET', `/v1/partitions?index=${atSecond.index}&wait=20s`, { token });
    const put = await second.request('PUT', '/v1/partition/us', { token, body: {} });
    const { ModifyIndex } = put.json<{ ModifyIndex: number }>();
    assert.ok(ModifyIndex > atFirst.index + EPOCH_STEP);
    assert.equal((await waiting).json<unknown[]>().length, 3);
    atSecond = await readAll(second, token);
    file = await exportFrom(second, token, 'from-etcd');
  }
  await using third = await startServer({ args: importArgs(file) });
  const atThird = await readAll(third, token);
  assert.deepEqual(atThird.texts, atSecond.texts);
  assert.ok(atThird.index >= atSecond.index);
  assert.equal((await third.request('GET', '/v1/acl/tokens', { token: made })).json<unknown[]>().length, 1);
});

test('an import needs no cluster.datacenter, and imports nothing with another one [SRV-33]', async () => {
  await using first = await startServer({ settings: { 'cluster.datacenter': 'east' } });
  const file = await exportFrom(first, first.token, 'from-east');
  await using target = await temporaryDirectory();
  const into = { dataDirectory: target.path, args: importArgs(file) };
  await assert.rejects(
    startServer({ ...into, settings: { 'cluster.datacenter': 'west' } }),
    (error) => error instanceof StartError && error.exitCode === 2 && error.log.includes("created as 'east'"),
  );
  await using second = await startServer(into);
  assert.equal((await second.request('GET', '/v1/partitions?dc=east', { token: first.token })).status, 200);
});

/** A changed row in an export with a valid checksum. */
type Forgery = readonly [what: string, message: RegExp, edit: (row: Readonly<Record<string, unknown>>) => unknown];

/** Replaces the stored value of a row. */
const stored =
  (value: unknown): Forgery[2] =>
  (row) => ({ ...row, value: JSON.stringify(value) });

const CHANGED =
  /^'.*': row 'eu' of table 'partitions' (is not a valid row of that table: it was changed|has another key in its content: it is damaged)$/;

/** Edits the row of the partition `eu`, moves it to the third line, and recomputes the checksum. */
const forged =
  (edit: Forgery[2]) =>
  (text: string): string => {
    const lines = text.trimEnd().split('\n').slice(0, -1);
    const at = lines.findIndex((line) => line.startsWith('{"table":"partitions","key":"eu"'));
    const [row = ''] = lines.splice(at, 1);
    const edited = edit(JSON.parse(row) as Record<string, unknown>);
    lines.splice(2, 0, typeof edited === 'string' ? edited : JSON.stringify(edited));
    const before = `${lines.join('\n')}\n`;
    const end = { rows: lines.length - 1, sha256: createHash('sha256').update(before).digest('hex') };
    return `${before}${JSON.stringify(end)}\n`;
  };

describe('an import that fails', () => {
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
    readonly cipher?: TextCipher;
    readonly message: RegExp;
  }
  const damages: readonly Damage[] = [
    { what: 'another key', cipher: wrong, message: /cannot be decrypted: another passphrase or data key was used$/ },
    {
      what: 'a changed character',
      edit: (text) => text.replace('Built in', 'Built on'),
      message: /^the checksum of '.*' does not match: it was changed or damaged$/,
    },
    {
      what: 'a missing row',
      edit: (text) => text.replace(/\{"table":"audit".*\n/, ''),
      message: /^the checksum of '.*' does not match: /,
    },
    {
      what: 'two rows in the wrong order',
      edit: (text) => text.replace(/(\{"table":"audit".*\n)(\{"table":"audit".*\n)/, '$2$1'),
      message: /^the checksum of '.*' does not match: /,
    },
    {
      // [STATE-96]
      what: 'an encrypted row with another key',
      edit: (text) => text.replace(/"key":"[^"]*","sealed"/, '"key":"mine","sealed"'),
      message: /^row 'mine' of 'acl-tokens' cannot be decrypted: /,
    },
    {
      what: 'no last line',
      edit: (text) => text.slice(0, text.trimEnd().lastIndexOf('\n') + 1),
      message: /' ends without its checksum: create the export again$/,
    },
    {
      what: 'an incomplete last line',
      edit: (text) => text.slice(0, text.length / 2),
      message: /' has a line that is not JSON: it is damaged or cut off$/,
    },
    { what: 'a line after the last line', edit: (text) => `${text}{}\n`, message: /' continues after its checksum$/ },
    {
      what: 'a later format',
      edit: (text) => text.replace('"version":1', '"version":2'),
      message: /' has format version 2, but this version reads 1$/,
    },
    ...(
      [
        ['a line that is null', /^line 3 of '.*' is not a row of an export$/, () => 'null'],
        ['a line that is an array', /^line 3 of '.*' is not a row of an export$/, () => '[]'],
        ['a row without a key', /^line 3 of '.*' is not a row of an export$/, ({ table, value }) => ({ table, value })],
        ['a row of a later format', /has format 99, but this version reads up to 1: a newer /, stored([99, 1, 1, {}])],
        ['a row without the form of a stored row', /is not a stored row: it is damaged$/, stored({ name: 'eu' })],
        ['a row that is not JSON', /is not JSON: it is damaged$/, (row) => ({ ...row, value: '[1,' })],
        ['a row that does not match its table', CHANGED, stored([1, 1, 1, { name: 5 }])],
        ['a row that is null', CHANGED, stored([1, 1, 1, null])],
        ['a row with the key of another row', CHANGED, stored([1, 1, 1, { name: 'us', description: '' }])],
        [
          'a row with an index above that of the export',
          CHANGED,
          stored([1, 1, 2 ** 40, { name: 'eu', description: '' }]),
        ],
        [
          'a row of an unknown table',
          /^'.*' has rows of a table 'new-things', which this version of Accord does not know: /,
          (row) => ({ ...row, table: 'new-things' }),
        ],
      ] as const satisfies readonly Forgery[]
    ).map(([what, message, edit]) => ({ what, message, edit: forged(edit) })),
    { what: 'a header that is null', edit: () => 'null\n', message: /^'.*' is not an export of Accord$/ },
    {
      what: 'a header with an invalid field',
      edit: (text) => text.replace(/"leftOut":\{.*?\}/, '"leftOut":null'),
      message: /^'.*' has a header with missing or invalid fields$/,
    },
    { what: 'other content', edit: () => 'hello\n', message: /^'.*' is not an export of Accord/ },
    { what: 'no content', edit: () => '', message: /^'.*' is not an export of Accord/ },
  ];

  async function assertAllFail(store: TestStore): Promise<void> {
    for (const [i, { what, edit = (text: string) => text, cipher = right, message }] of damages.entries()) {
      const file = inFolder(`damaged-${i}`);
      const damaged = edit(text);
      assert.ok(damaged !== text || cipher !== right, `${what}: the edit changed nothing`);
      await writeFile(file, damaged);
      const options = { schema: SCHEMA, node: 'a', clock: systemClock, rowsMax: 1_000, log: () => undefined };
      await using state = State.create({ ...options, engine: store.engine() });
      const start = state.start(async (engine) => {
        await using exported = await openExportFile(file);
        const { signal } = new AbortController();
        await importExport(exported, { engine, schema: SCHEMA, cipherFor: async () => cipher, signal });
      });
      await assert.rejects(start, (error) => {
        assert.ok(error instanceof ImportError, `${what}: ${String(error)}`);
        assert.match(error.message, message, what);
        return true;
      });
    }
    await using state = await openState(store.engine(), { schema: SCHEMA });
    assert.equal(state.snapshot.rowCount, 0);
    assert.deepEqual(await state.scan(auditLog, { limit: 1 }, new AbortController().signal), []);
  }

  test('names the damage and leaves SQLite empty [STATE-98]', async () => {
    await using store = await sqliteStore();
    await assertAllFail(store);
  });

  test('names the damage and leaves etcd empty [STATE-98]', { skip: skipWithout('etcd') }, async () => {
    assert.ok(etcd !== undefined);
    await using store = await etcdStore(etcd);
    await assertAllFail(store);
  });

  test('ends the server with one error line, and the next start finds an empty store [SRV-52]', async () => {
    let good: string;
    {
      await using server = await startServer();
      good = await exportFrom(server, server.token, 'good');
    }
    const dataDirectory = await mkdtemp(inFolder('data-'));
    const attempts = [
      ['other-passphrase', /cannot be decrypted: another passphrase or data key was used$/],
      [null, /is encrypted with a passphrase: pass a file that contains it with --import-passphrase-file$/],
    ] as const;
    for (const [passphrase, message] of attempts) {
      const log = await failedStart({ dataDirectory, args: importArgs(good, passphrase) });
      const lines = log.split('\n').filter((line) => line.includes('"level":"error"'));
      assert.equal(lines.length, 1, log);
      assert.match((JSON.parse(lines[0] ?? '') as { reason: string }).reason, message);
    }
    await using server = await startServer({ dataDirectory });
    assert.equal((await server.request('GET', '/v1/partitions')).json<unknown[]>().length, 1);
  });

  test('does not change a store that holds a state [SRV-53]', async () => {
    const dataDirectory = await mkdtemp(inFolder('data-'));
    const file = inFolder('encrypted-with-key');
    await writeFile(file, text);
    await writeFile(inFolder('right-key'), Buffer.alloc(32, 1).toString('base64'));
    const settings = { 'data-key-file': inFolder('right-key') };
    let existing: Awaited<ReturnType<typeof readAll>>;
    {
      await using server = await startServer({ dataDirectory, settings });
      await server.request('PUT', '/v1/partition/mine', { body: {} });
      existing = await readAll(server, server.token);
    }
    const log = await failedStart({ dataDirectory, settings, args: importArgs(file, null) });
    assert.match(log, /cannot import '.*', .*already holds a state: if .* start without --import-file/);
    await using server = await startServer({ dataDirectory, settings });
    assert.deepEqual((await readAll(server, server.token)).texts, existing.texts);
  });
});

test('an import and a recovery succeed above quotas and the row limit, and then only removals fit [STATE-116]', async () => {
  await using directory = await temporaryDirectory();
  const file = inFolder('above-quota.jsonl');
  {
    await using api = await startApi();
    const { token } = await makeUser(api, 'owner');
    await makeOrganization(api, token, 'acme');
    const { id } = await makeTeam(api, token, 'acme', { name: 'first' });
    await api.state.write((tx) => {
      const team = tx.get(teams, id)?.row;
      for (let i = 0; team !== undefined && i < 1_000; i++) tx.put(teams, { ...team, id: `team-${i}`, name: `t${i}` });
    });
    const headers = { 'x-service-export-passphrase': Buffer.from(PASSPHRASE).toString('base64') };
    const exported = await api.request('GET', '/v1/operator/export', { headers });
    await writeFile(file, exported.text);
    await writeFile(inFolder('owner-token'), token);
  }
  const settings = { 'state.rows-max': '1000', 'limits.rows-per-organization': '10', 'team-access.rate-limit': '0' };
  const token = await readFile(inFolder('owner-token'), 'utf8');
  const call = (server: Server, method: string, route: string, body?: object) =>
    server.request(method, `/api/v2${route}`, {
      token: null,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json' },
      ...(body !== undefined && { body }),
    });
  const team = { data: { type: 'teams', attributes: { name: 'more' } } };
  {
    await using server = await startServer({ dataDirectory: directory.path, settings, args: importArgs(file) });
    assert.equal((await call(server, 'POST', '/organizations/acme/teams', team)).status, 507);
    assert.equal(await server.stop(), 0);
  }
  await using server = await startServer({ dataDirectory: directory.path, settings, args: ['--recover'] });
  const recovered = await readCredentials(directory.path);
  assert.equal((await call(server, 'GET', '/account/details')).status, 200);
  assert.ok(recovered?.teamAccess?.token, 'the recovery created a site administrator');
  assert.equal((await call(server, 'POST', '/organizations/acme/teams', team)).status, 507);
  const listed = (await call(server, 'GET', '/organizations/acme/teams?page[size]=100')).json<{
    data: { id: string; attributes: { name: string } }[];
  }>();
  const removed = listed.data.filter(({ attributes }) => attributes.name !== 'owners');
  for (const { id } of removed) assert.equal((await call(server, 'DELETE', `/teams/${id}`)).status, 204);
  const refused = await call(server, 'POST', '/organizations/acme/teams', team);
  assert.deepEqual(
    [refused.status, /limits\.rows-per-organization is 10/.test(refused.text)],
    [422, true],
    refused.text,
  );
});

test('a start creates new credentials after the import of an export without secrets [SRV-48]', async () => {
  let file: string;
  {
    await using first = await startServer();
    await first.request('PUT', '/v1/partition/eu', { body: {} });
    file = inFolder('without-key');
    await writeFile(file, (await first.request('GET', '/v1/operator/export')).text);
  }
  await using second = await startServer({ args: importArgs(file, null) });
  const names = (await second.request('GET', '/v1/partitions')).json<{ Name: string }[]>();
  assert.deepEqual(
    names.map(({ Name }) => Name),
    ['default', 'eu'],
  );
  assert.match(second.log(), /"table":"acl-tokens","count":1,.*"msg":"rows with secrets are missing from the export/);
});

test('the import of an export that is encrypted with a data key requires that key [SRV-50, SRV-52]', async () => {
  await writeFile(inFolder('key'), `${Buffer.alloc(32, 1).toString('base64')}\n`);
  await writeFile(inFolder('other-key'), `${Buffer.alloc(32, 2).toString('base64')}\n`);
  const withKey = (name: string) => ({ 'data-key-file': inFolder(name) });
  let token = '';
  {
    await using first = await startServer({ settings: withKey('key') });
    token = first.token;
    await writeFile(inFolder('by-key'), (await first.request('GET', '/v1/operator/export')).text);
  }
  const args = importArgs(inFolder('by-key'), null);
  assert.match(
    await failedStart({ args }),
    /is encrypted with a data key: set data-key-file to the key of the exporting server/,
  );
  const message = /cannot be decrypted: another passphrase or data key was used/;
  assert.match(await failedStart({ settings: withKey('other-key'), args }), message);
  await using second = await startServer({ settings: withKey('key'), args });
  assert.equal((await second.request('GET', '/v1/acl/token/self', { token })).status, 200);
});
