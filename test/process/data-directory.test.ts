/** Starts with an unusable data directory: the server logs one line, exits with code 1, and changes no file. */
import assert from 'node:assert/strict';
import { chmod, chown, mkdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { openDatabase } from '../../src/state/engine/sqlite/database.ts';
import { type EncodedOperations, PUT } from '../../src/state/engine/sqlite/messages.ts';
import { type Server, type ServerOptions, StartError, startServer } from '../support/process/server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Root bypasses file permissions, so the server runs without the capabilities that allow this. */
const isRoot = process.getuid?.() === 0;
const WITHOUT_PRIVILEGES = isRoot
  ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search', '--inh-caps=-all']
  : [];
const NOBODY = 65_534;

/** Starts a server that must exit with code 1. @returns the message of its only error */
async function failureMessage(options: ServerOptions): Promise<string> {
  let line = '';
  await assert.rejects(startServer(options), (error) => {
    assert.ok(error instanceof StartError, String(error));
    const lines = error.log.split('\n').filter((text) => text.includes('"level":"error"'));
    assert.deepEqual([error.exitCode, lines.length], [1, 1], error.log);
    line = (JSON.parse(lines[0] ?? '') as { reason: string }).reason;
    return true;
  });
  return line;
}

const databaseIn = (directory: string): string => path.join(directory, 'accord.db');

/** Returns a directory with the database of a stopped server. */
async function usedDirectory(): Promise<Awaited<ReturnType<typeof temporaryDirectory>>> {
  const directory = await temporaryDirectory();
  const server = await startServer({ dataDirectory: directory.path });
  for (let count = 0; count < 50; count += 1) {
    await server.request('PUT', '/v1/acl/token', { body: { Description: 'x'.repeat(1_000) } });
  }
  assert.equal(await server.stop(), 0);
  return directory;
}

describe('a start with an unusable data directory', { timeout: 240_000, concurrency: 2 }, () => {
  const removePermissions = async (directory: string): Promise<void> => {
    await chmod(directory, 0o500);
    if (isRoot) await chown(directory, NOBODY, NOBODY);
  };

  test('fails when the directory is not writable, and names the directory [SRV-84, SQLITE-2]', async () => {
    await using parent = await temporaryDirectory();
    const directory = path.join(parent.path, 'data');
    await mkdir(directory);
    await removePermissions(directory);
    const settings = { 'data-dir': directory };
    const line = await failureMessage({ dataDirectory: parent.path, settings, commandPrefix: WITHOUT_PRIVILEGES });
    assert.equal(
      line,
      `data directory '${directory}' cannot be used (EACCES): it must be a directory that this user can read and write`,
    );
  });

  test('fails when the directory is missing and its parent is not writable', async () => {
    await using parent = await temporaryDirectory();
    const closed = path.join(parent.path, 'closed');
    await mkdir(closed);
    await removePermissions(closed);
    const settings = { 'data-dir': path.join(closed, 'data') };
    const line = await failureMessage({ dataDirectory: parent.path, settings, commandPrefix: WITHOUT_PRIVILEGES });
    assert.match(line, /data directory '.*\/closed\/data' cannot be used \(EACCES\)/);
  });

  test('fails when data-dir names a file, and does not change the file', async () => {
    await using parent = await temporaryDirectory();
    const file = path.join(parent.path, 'data');
    await writeFile(file, 'not a directory');
    const line = await failureMessage({ dataDirectory: parent.path, settings: { 'data-dir': file } });
    assert.match(line, /data directory '.*\/data' cannot be used \((EEXIST|ENOTDIR)\)/);
    assert.equal(await readFile(file, 'utf8'), 'not a directory');
  });
});

/** Commits another value of the partition `default`, with a matching checksum. */
function rewritePartition(file: string, change: (value: string) => string): void {
  const database = openDatabase(file);
  const { epoch, index } = database.head();
  const [value] = database.scan('partitions', { limit: 1 }).values;
  const operation = [PUT, 'partitions', 'default', change(value ?? '')].join('\u0000') as EncodedOperations;
  assert.equal(
    database.commit(epoch, index, operation, () => undefined),
    'committed',
  );
  database.close();
}

describe('a start with an unreadable database file', { timeout: 240_000, concurrency: 2 }, () => {
  const damages: Readonly<Record<string, readonly [damage: (file: string) => Promise<void>, message: RegExp]>> = {
    'random bytes': [
      (file) => writeFile(file, Buffer.alloc(20_000, 'not what it was ')),
      /accord\.db' is damaged: file is not a database\. Either import/,
    ],
    'a truncated file': [
      async (file) => await truncate(file, Math.floor((await stat(file)).size / 8_192) * 4_096),
      /accord\.db' is damaged: .*malformed\. Either import/,
    ],
    'the database of another program': [
      async (file) => {
        await writeFile(file, '');
        using other = new DatabaseSync(file);
        other.exec('CREATE TABLE recipes (name TEXT)');
      },
      /accord\.db' cannot be read: .*not one of Accord: choose another data-dir/,
    ],
    // [SQLITE-20] [SQLITE-21]
    'the layout of a newer version': [
      async (file) => {
        using newer = new DatabaseSync(file);
        newer.exec('PRAGMA user_version = 99');
      },
      /accord\.db' cannot be read: it has layout 99, but this version reads up to 2: run the version of Accord that wrote it/,
    ],
    // [STATE-31]
    'a row that is not JSON': [
      async (file) => rewritePartition(file, (value) => value.slice(0, 20)),
      /^row 'default' of table 'partitions' is not JSON: it is damaged$/,
    ],
    // [STATE-31]
    'rows in a newer format': [
      async (file) => rewritePartition(file, (value) => value.replace('[1,', '[99,')),
      /^row 'default' of table 'partitions' has format 99, but this version reads up to 1: .* run that version or a later one$/,
    ],
  };
  for (const [name, [damage, message]] of Object.entries(damages)) {
    test(`fails with ${name}, names the damage, and does not change the file [SQLITE-37]`, async () => {
      await using directory = await usedDirectory();
      const file = databaseIn(directory.path);
      await damage(file);
      const before = await readFile(file);
      const line = await failureMessage({ dataDirectory: directory.path });
      assert.match(line, message);
      assert.ok(before.equals(await readFile(file)), 'the file was changed');
    });
  }
});

describe('a second process on the same database file', { timeout: 240_000 }, () => {
  // Verifies [SQLITE-13].
  test('fails with the PID of the first process, and starts after the first was killed [SQLITE-12]', async () => {
    await using directory = await temporaryDirectory();
    const options = { dataDirectory: directory.path };
    const tokenStatus = async (server: Server) => (await server.request('GET', '/v1/acl/token/self')).status;
    await using first = await startServer(options);
    const file = databaseIn(directory.path);
    const refusal = `process ${first.process.pid} is using '${file}': stop that process, or choose another data-dir`;
    assert.equal(await failureMessage(options), refusal);
    assert.equal(await failureMessage(options), refusal, 'a failed start releases no lock');
    assert.equal(await tokenStatus(first), 200);
    assert.equal((await first.request('PUT', '/v1/partition/eu', { body: {} })).status, 200);
    await first.stop('SIGKILL');
    await using second = await startServer(options);
    assert.equal((await second.request('GET', '/v1/partition/eu')).status, 200);
    assert.match(await failureMessage(options), new RegExp(`^process ${second.process.pid} `));
  });
});
