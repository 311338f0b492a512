/** Servers whose SQLite database is damaged: they refuse to start, and name the place and the ways to continue. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, cpSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { auditKeyAt } from '../../src/audit/record.ts';
import { openDatabase } from '../../src/state/engine/sqlite/database.ts';
import { type EncodedOperations, PUT } from '../../src/state/engine/sqlite/messages.ts';
import { type Server, type ServerOptions, StartError, startServer } from '../support/process/server.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';

const ENTRY = path.resolve(import.meta.dirname, '../../bin/accord.ts');
const PASSPHRASE = 'correct horse battery staple';
const TOKENS = 60;

let folder: TemporaryDirectory;
/** The data directory of a stopped server with `TOKENS` tokens, and the secret of one that works everywhere. */
let original = '';
let secret = '';
before(async () => {
  folder = await temporaryDirectory();
  original = path.join(folder.path, 'original');
  writeFileSync(path.join(folder.path, 'passphrase'), PASSPHRASE);
  await using server = await startServer({ dataDirectory: await makeDirectory('original') });
  for (let number = 1; number <= TOKENS; number++) {
    const body = { Description: `description of ${String(number).padStart(2, '0')}` };
    await server.request('PUT', '/v1/acl/token', { body });
  }
  secret = server.token;
  await server.stop();
});
after(() => folder[Symbol.asyncDispose]());

async function makeDirectory(name: string): Promise<string> {
  const directory = path.join(folder.path, name);
  mkdirSync(directory, { recursive: true });
  return directory;
}

/** Copies the data directory, and changes `text` everywhere in the database, without changing its length. */
function damagedCopy(name: string, text: string): string {
  const directory = path.join(folder.path, name);
  cpSync(original, directory, { recursive: true });
  const file = path.join(directory, 'accord.db');
  const bytes = readFileSync(file);
  let found = 0;
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) {
    bytes[at] = (bytes[at] as number) ^ 1;
    found += 1;
  }
  assert.ok(found > 0, `'${text}' is in the database`);
  writeFileSync(file, bytes);
  return directory;
}

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

const accord = (...args: string[]) => {
  const { status, stderr } = spawnSync(process.execPath, [ENTRY, ...args], { cwd: folder.path, encoding: 'utf8' });
  return { status, stderr };
};

const descriptions = async (server: Server, token: string): Promise<string[]> => {
  const answer = await server.request('GET', '/v1/acl/tokens', { token });
  assert.equal(answer.status, 200, answer.text);
  return answer
    .json<{ Description: string }[]>()
    .map(({ Description }) => Description)
    .filter((text) => text.startsWith('description of'));
};

describe('a damaged database', { timeout: 120_000, concurrency: 1 }, () => {
  test('stops the start, and the message names the file, the row, and the ways to continue [SQLITE-37, SQLITE-53]', async () => {
    const dataDirectory = damagedCopy('refused', 'description of 07');
    const log = await failedStart({ dataDirectory });
    const place = /accord\.db' is damaged: row '[^']+' of table '[^']+' does not match its checksum/;
    for (const part of [place, /--import-file/, /--recover/, /accord export FILE --offline/]) assert.match(log, part);
  });

  test('is exported offline without its damaged rows, and the export can be imported [SQLITE-54, SRV-106]', async () => {
    const dataDirectory = damagedCopy('exported', 'description of 07');
    const file = path.join(folder.path, 'whole.jsonl');
    const passphraseFile = path.join(folder.path, 'passphrase');
    const args = ['--offline', '--data-dir', dataDirectory, '--passphrase-file', passphraseFile];
    const { status, stderr } = accord('export', file, ...args);
    assert.equal(status, 0, stderr);
    assert.match(stderr, /Skipped, because they are damaged: 1 of acl-tokens \('[0-9a-f-]{36}'\)\./);
    const again = accord('export', path.join(folder.path, 'twice.jsonl'), ...args);
    assert.equal(again.status, 0, again.stderr);

    const importing = ['--import-file', file, '--import-passphrase-file', passphraseFile];
    await using server = await startServer({ dataDirectory: await makeDirectory('imported'), args: importing });
    const found = await descriptions(server, secret);
    assert.equal(found.length, TOKENS - 1);
    assert.ok(!found.some((text) => text.endsWith('07')));
  });

  test('is rebuilt by --recover from its whole rows, and the damaged file is kept [SQLITE-55]', async () => {
    const dataDirectory = damagedCopy('rebuilt', 'description of 07');
    await using server = await startServer({ dataDirectory, args: ['--recover'] });
    assert.equal((await descriptions(server, secret)).length, TOKENS - 1);
    assert.match(server.log(), /"msg":"damaged database rebuilt"/);
    const names = readdirSync(dataDirectory);
    assert.ok(
      names.some((name) => name.startsWith('accord.db.damaged-')),
      names.join(),
    );
    assert.ok(!names.includes('rebuild'));
  });

  test('leaves no directory of a killed rebuild behind after the next start [SQLITE-55]', async () => {
    const dataDirectory = path.join(folder.path, 'interrupted');
    cpSync(original, dataDirectory, { recursive: true });
    mkdirSync(path.join(dataDirectory, 'rebuild'));
    await using server = await startServer({ dataDirectory });
    assert.equal((await descriptions(server, secret)).length, TOKENS);
    assert.ok(!readdirSync(dataDirectory).includes('rebuild'));
  });
});

describe('accord export --offline', { timeout: 60_000 }, () => {
  test('fails while a server uses the database, and changes nothing [SQLITE-54]', async () => {
    const dataDirectory = path.join(folder.path, 'running');
    cpSync(original, dataDirectory, { recursive: true });
    await using server = await startServer({ dataDirectory });
    const { status, stderr } = accord('export', 'running.jsonl', '--offline', '--data-dir', dataDirectory);
    assert.equal(status, 1);
    assert.match(stderr, /accord\.db' cannot be read: a process is using it: stop the server first/);
    assert.equal((await descriptions(server, secret)).length, TOKENS);
  });
});

describe('a damaged audit entry', { timeout: 60_000 }, () => {
  const ENTRIES = 1_500;
  /** Not one of the first, which the job that removes old entries has read just after the start. */
  const DAMAGED = 750;
  const MARKER = 'the entry that is damaged';

  /** Returns a copy of the data directory whose audit log is larger than the cache of SQLite, with the marked key. */
  function largeAuditLog(name: string): { readonly directory: string; readonly key: string } {
    const directory = path.join(folder.path, name);
    cpSync(original, directory, { recursive: true });
    const database = openDatabase(path.join(directory, 'accord.db'));
    const { epoch, index } = database.head();
    const time = new Date().toISOString();
    const keys = Array.from({ length: ENTRIES }, (_, i) => `${auditKeyAt(index + 1)}-${String(i).padStart(6, '0')}`);
    const parts = keys.flatMap((id, i) => {
      const after = i === DAMAGED ? MARKER : 'x'.repeat(4_000);
      const entry = { id, time, actor: 'system', address: '', requestId: '', action: 'create' };
      const row = { ...entry, type: 'partition', subject: 's', partition: 'default', before: null, after };
      return [PUT, 'audit', id, JSON.stringify([1, index + 1, index + 1, row])];
    });
    database.commit(epoch, index, parts.join('\u0000') as EncodedOperations, () => undefined);
    database.close();
    return { directory, key: keys[DAMAGED] ?? '' };
  }

  function damageMarker(directory: string): void {
    const file = path.join(directory, 'accord.db');
    const handle = openSync(file, 'r+');
    writeSync(handle, 'T', readFileSync(file).indexOf(MARKER));
    closeSync(handle);
  }

  test('does not prevent an export of a running server, which names and skips it [SQLITE-48]', async () => {
    const { directory, key } = largeAuditLog('running-audit');
    await using server = await startServer({ dataDirectory: directory });
    damageMarker(directory);
    const headers = { 'x-service-export-passphrase': Buffer.from(PASSPHRASE).toString('base64') };
    const exported = await server.request('GET', '/v1/operator/export', { token: secret, headers });
    assert.equal(exported.status, 200);
    const { skipped } = JSON.parse(exported.text.trim().split('\n').at(-1) ?? '') as { skipped?: unknown };
    assert.deepEqual(skipped, { audit: { count: 1, keys: [key] } });
    const listed = await server.request('GET', '/v1/audit?limit=1000', { token: secret });
    assert.equal(listed.status, 200);
    assert.match(server.log(), /"msg":"stored row is damaged"/);
  });

  test('does not prevent an offline export, which names and skips it [SQLITE-54]', () => {
    const { directory, key } = largeAuditLog('offline-audit');
    damageMarker(directory);
    const passphraseFile = path.join(folder.path, 'passphrase');
    const args = ['--offline', '--data-dir', directory, '--passphrase-file', passphraseFile];
    const { status, stderr } = accord('export', path.join(folder.path, 'audit.jsonl'), ...args);
    assert.equal(status, 0, stderr);
    assert.ok(stderr.includes(`Skipped, because they are damaged: 1 of audit ('${key}').`), stderr);
  });
});
