/** A data directory that cannot be used: a clear line, exit code 1, and nothing in it is touched. */
import assert from 'node:assert/strict';
import { chmod, chown, mkdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { type Server, type ServerOptions, StartError, startServer } from '../support/process/server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Root may do everything, so it gives up what it would ignore permissions with. */
const isRoot = process.getuid?.() === 0;
const UNDER_PERMISSIONS = isRoot ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search', '--inh-caps=-all'] : [];
const NOBODY = 65_534;

/** The one line of a start that must fail with 1. */
async function lineOfFailure(options: ServerOptions): Promise<string> {
  let line = '';
  await assert.rejects(startServer(options), (error) => {
    assert.ok(error instanceof StartError, String(error));
    const lines = error.log.trim().split('\n');
    assert.deepEqual([error.exitCode, lines.length], [1, 1], error.log);
    const { level, msg } = JSON.parse(error.log) as { level: string; msg: string };
    assert.equal(level, 'error');
    line = msg;
    return true;
  });
  return line;
}

const databaseIn = (directory: string): string => path.join(directory, 'accord.db');

/** A directory with the database of a server that was stopped. */
async function usedDirectory(): Promise<Awaited<ReturnType<typeof temporaryDirectory>>> {
  const directory = await temporaryDirectory();
  const server = await startServer({ dataDirectory: directory.path });
  for (let count = 0; count < 50; count += 1) {
    await server.request('PUT', '/v1/acl/token', { body: { Description: 'x'.repeat(1_000) } });
  }
  assert.equal(await server.stop(), 0);
  return directory;
}

describe('a data directory without permission', { timeout: 240_000, concurrency: 2 }, () => {
  const takeAway = async (directory: string): Promise<void> => {
    await chmod(directory, 0o500);
    if (isRoot) await chown(directory, NOBODY, NOBODY);
  };

  test('for the database: names the directory and what is wanted', async () => {
    await using parent = await temporaryDirectory();
    const directory = path.join(parent.path, 'data');
    await mkdir(directory);
    await takeAway(directory);
    const settings = { 'data-dir': directory };
    const line = await lineOfFailure({ dataDirectory: parent.path, settings, under: UNDER_PERMISSIONS });
    assert.equal(
      line,
      `data directory '${directory}' cannot be used (EACCES): it must be a directory that this user can read and write`,
    );
  });

  test('to be made in its parent: likewise', async () => {
    await using parent = await temporaryDirectory();
    const closed = path.join(parent.path, 'closed');
    await mkdir(closed);
    await takeAway(closed);
    const settings = { 'data-dir': path.join(closed, 'data') };
    const line = await lineOfFailure({ dataDirectory: parent.path, settings, under: UNDER_PERMISSIONS });
    assert.match(line, /data directory '.*\/closed\/data' cannot be used \(EACCES\)/);
  });

  test('that is a file: likewise', async () => {
    await using parent = await temporaryDirectory();
    const file = path.join(parent.path, 'data');
    await writeFile(file, 'not a directory');
    const line = await lineOfFailure({ dataDirectory: parent.path, settings: { 'data-dir': file } });
    assert.match(line, /data directory '.*\/data' cannot be used \((EEXIST|ENOTDIR)\)/);
    assert.equal(await readFile(file, 'utf8'), 'not a directory');
  });
});

describe('a database file that cannot be read', { timeout: 240_000, concurrency: 2 }, () => {
  const damages: Readonly<Record<string, readonly [damage: (file: string) => Promise<void>, told: RegExp]>> = {
    'random bytes': [
      (file) => writeFile(file, Buffer.alloc(20_000, 'not what it was ')),
      /accord\.db' cannot be read: file is not a database; restore it/,
    ],
    'a file that was cut off': [
      async (file) => await truncate(file, Math.floor((await stat(file)).size / 8_192) * 4_096),
      /accord\.db' cannot be read: .*malformed; restore it/,
    ],
    'the database of another program': [
      async (file) => {
        await writeFile(file, '');
        using other = new DatabaseSync(file);
        other.exec('CREATE TABLE recipes (name TEXT)');
      },
      /accord\.db' cannot be read: .*not one of Accord: choose another data-dir/,
    ],
    'a layout of a newer version': [
      async (file) => {
        using newer = new DatabaseSync(file);
        newer.exec('PRAGMA user_version = 99');
      },
      /accord\.db' cannot be read: it has layout 99, this version reads up to 1: run the version of Accord that wrote it/,
    ],
    'a row that is no JSON': [
      async (file) => {
        using database = new DatabaseSync(file);
        database.exec(`UPDATE rows SET value = substr(value, 1, 20) WHERE tbl = 'partitions'`);
      },
      /^row 'default' of table 'partitions' is not JSON: it is damaged$/,
    ],
    'rows of a newer format': [
      async (file) => {
        using database = new DatabaseSync(file);
        database.exec(`UPDATE rows SET value = replace(value, '[1,', '[99,') WHERE tbl = 'partitions'`);
      },
      /^row 'default' of table 'partitions' has format 99, this version reads up to 1: .* run that version or a later one$/,
    ],
  };
  for (const [name, [damage, told]] of Object.entries(damages)) {
    test(`${name}: it says what is wrong, and leaves the file as it is`, async () => {
      await using directory = await usedDirectory();
      const file = databaseIn(directory.path);
      await damage(file);
      const before = await readFile(file);
      const line = await lineOfFailure({ dataDirectory: directory.path });
      assert.match(line, told);
      assert.ok(before.equals(await readFile(file)), 'the file was changed');
    });
  }
});

describe('a second process on the same file', { timeout: 240_000 }, () => {
  test('is refused with the pid of the first one, which goes on; after its kill -9 the next one starts', async () => {
    await using directory = await temporaryDirectory();
    const options = { dataDirectory: directory.path };
    const token = async (server: Server) => (await server.request('GET', '/v1/acl/token/self')).status;
    await using first = await startServer(options);
    const file = databaseIn(directory.path);
    const refusal = `process ${first.process.pid} is using '${file}': one server a file; stop it, or choose another data-dir`;
    assert.equal(await lineOfFailure(options), refusal);
    assert.equal(await lineOfFailure(options), refusal, 'a refused one takes nothing away');
    assert.equal(await token(first), 200);
    assert.equal((await first.request('PUT', '/v1/partition/eu', { body: {} })).status, 200);
    await first.stop('SIGKILL');
    await using second = await startServer(options);
    assert.equal((await second.request('GET', '/v1/partition/eu')).status, 200);
    assert.match(await lineOfFailure(options), new RegExp(`^process ${second.process.pid} `));
  });
});
