/** Tests of the SQLite engine with unusable files, a full disk, and a killed process. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { openNode } from '../../../../test/support/state/engine-node.ts';
import { openState } from '../../../../test/support/state/state.ts';
import { counters } from '../../../../test/support/state/tables.ts';
import { temporaryDirectory } from '../../../../test/support/temporary-directory.ts';
import { isStateError, type StateErrorCode } from '../../errors.ts';
import { sqliteEngine } from './engine.ts';

const WRITER = new URL('../../../../test/support/state/sqlite-writer-main.ts', import.meta.url).pathname;
/** Acknowledged writes after which the writer process is killed. */
const COUNTS = 40;

/** Asserts that opening fails with this code and a message that matches. */
async function assertOpenFails(directory: string, code: StateErrorCode, message: RegExp): Promise<void> {
  await using engine = sqliteEngine({ directory });
  await assert.rejects(openNode(engine), (error) => {
    assert.ok(isStateError(error, code), String(error));
    assert.match(error.message, message);
    return true;
  });
}

/** Reads the lines that a writer process prints until it ends. Kills it when `isLast` returns true. */
async function linesOf(child: ChildProcess, isLast: (line: string) => boolean): Promise<string[]> {
  const lines: string[] = [];
  const ended = once(child, 'exit');
  assert.ok(child.stdout !== null);
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (isLast(line)) child.kill('SIGKILL');
  }
  await ended;
  return lines;
}

describe('sqlite engine on an unusable file', { timeout: 60_000 }, () => {
  it('fails with corrupt if the file is not a database [SQLITE-37]', async () => {
    await using directory = await temporaryDirectory();
    await writeFile(path.join(directory.path, 'accord.db'), 'not a database at all'.repeat(100));
    await assertOpenFails(directory.path, 'corrupt', /accord\.db' is damaged: .*import the newest export/);
  });

  it('fails with corrupt on a database of another program [SQLITE-19]', async () => {
    await using directory = await temporaryDirectory();
    const other = new DatabaseSync(path.join(directory.path, 'accord.db'));
    other.exec('CREATE TABLE songs (title TEXT)');
    other.close();
    await assertOpenFails(directory.path, 'corrupt', /not one of Accord: choose another data-dir$/);
  });

  for (const form of ['', ' WITHOUT ROWID']) {
    it(`adds checksums to a file of layout 1${form} [SQLITE-22] [SQLITE-16] [SQLITE-17]`, async () => {
      await using directory = await temporaryDirectory();
      const earlier = new DatabaseSync(path.join(directory.path, 'accord.db'));
      earlier.exec(`
      CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), cluster TEXT NOT NULL, epoch INTEGER NOT NULL, idx INTEGER NOT NULL);
      CREATE TABLE rows (tbl TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (tbl, key))${form};
      INSERT INTO head VALUES (1, 'c', 1, 7);
      INSERT INTO rows VALUES ('counters', 'b', '[1,7,7,{"id":"b","value":2,"partition":"p"}]');
      INSERT INTO rows VALUES ('counters', 'a', '[1,7,7,{"id":"a","value":1,"partition":"p"}]');
      PRAGMA user_version = 1;
    `);
      earlier.close();
      for (const values of [
        [1, 2],
        [2, 2],
      ]) {
        await using state = await openState(sqliteEngine({ directory: directory.path }));
        assert.deepEqual(
          state.snapshot.all(counters).map(({ row }) => row.value),
          values,
        );
        await state.write((tx) => tx.put(counters, { id: 'a', value: 2, partition: 'p' }));
      }
      const file = new DatabaseSync(path.join(directory.path, 'accord.db'), { readOnly: true });
      assert.deepEqual({ ...file.prepare('PRAGMA user_version').get() }, { user_version: 2 });
      assert.deepEqual({ ...file.prepare('SELECT count(*) AS n FROM sqlite_schema').get() }, { n: 3 });
      file.close();
    });
  }

  it('fails with corrupt on a damaged file of layout 1, and leaves its rows [SQLITE-22]', async () => {
    await using directory = await temporaryDirectory();
    const file = path.join(directory.path, 'accord.db');
    const earlier = new DatabaseSync(file);
    earlier.exec(`
      CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), cluster TEXT NOT NULL, epoch INTEGER NOT NULL, idx INTEGER NOT NULL);
      CREATE TABLE rows (tbl TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (tbl, key));
      INSERT INTO head VALUES (1, 'c', 1, 7);
      INSERT INTO rows VALUES ('counters', 'secret-key', '[1,7,7,{"id":"secret-key","value":2,"partition":"p"}]');
      PRAGMA user_version = 1;
    `);
    earlier.close();
    const bytes = await readFile(file);
    // The last occurrence is in the index.
    bytes.write('x', bytes.lastIndexOf('secret-key'));
    await writeFile(file, bytes);
    await assertOpenFails(directory.path, 'corrupt', /is damaged: row 1 missing from index/);
    const kept = new DatabaseSync(file);
    assert.deepEqual({ ...kept.prepare('PRAGMA user_version').get() }, { user_version: 1 });
    assert.deepEqual({ ...kept.prepare('SELECT count(*) AS n FROM rows').get() }, { n: 1 });
    kept.close();
  });

  it('fails with corrupt on a newer layout and names the remedy [SQLITE-20]', async () => {
    await using directory = await temporaryDirectory();
    const later = new DatabaseSync(path.join(directory.path, 'accord.db'));
    later.exec('PRAGMA user_version = 99');
    later.close();
    await assertOpenFails(
      directory.path,
      'corrupt',
      /layout 99, but this version reads up to 2: run the version of Accord that wrote it, or a later one$/,
    );
  });

  it('fails with unavailable if data-dir is a file, and names it [SQLITE-2]', async () => {
    await using directory = await temporaryDirectory();
    const file = path.join(directory.path, 'file');
    await writeFile(file, '');
    await assertOpenFails(file, 'unavailable', /file' cannot be used \(E/);
  });

  it('fails with unavailable, not with corrupt, if the file is a directory [SQLITE-32]', async () => {
    await using directory = await temporaryDirectory();
    await mkdir(path.join(directory.path, 'accord.db'));
    await assertOpenFails(directory.path, 'unavailable', /cannot be opened/);
  });
});

describe('sqlite writer process', { timeout: 60_000 }, () => {
  it('releases the file when it is killed, with every acknowledged commit complete [SQLITE-8] [SQLITE-25]', async () => {
    await using directory = await temporaryDirectory();
    const child = spawn(process.execPath, [WRITER, directory.path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = await linesOf(child, (line) => Number(line) >= COUNTS);
    await using state = await openState(sqliteEngine({ directory: directory.path }));
    const last = state.snapshot.get(counters, 'last')?.row.value ?? 0;
    assert.ok(last >= Number(lines.at(-1)), `${lines.at(-1)} was acknowledged, ${last} is there`);
    assert.equal(state.snapshot.all(counters).length, last + 1, 'each commit is complete');
  });

  it('locks the file while it runs, and is named by its process id [SQLITE-12]', async () => {
    await using directory = await temporaryDirectory();
    const child = spawn(process.execPath, [WRITER, directory.path], { stdio: ['ignore', 'pipe', 'inherit'] });
    let failing: Promise<void> | undefined;
    let tried = false;
    await linesOf(child, () => {
      failing ??= assertOpenFails(directory.path, 'locked', new RegExp(`process ${child.pid} is using`)).finally(() => {
        tried = true;
      });
      return tried;
    });
    await failing;
  });

  it('fails a write with the code full on a full disk, and keeps earlier writes [SQLITE-33]', async (t) => {
    await using directory = await temporaryDirectory();
    // A file system of 3 MB, which is unmounted when the process ends.
    const mounted = ['-rm', 'sh', '-c', 'mount -t tmpfs -o size=3m tmpfs "$1" && exec "$2" "$3" "$1" 20000', 'sh'];
    if (spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', directory.path]).status !== 0) {
      return t.skip('this system does not allow mounting a tmpfs');
    }
    const child = spawn('unshare', [...mounted, directory.path, process.execPath, WRITER], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = await linesOf(child, () => false);
    const acknowledged = Number(lines.at(-2));
    assert.equal(lines.at(-1), `refused full after ${acknowledged}`);
    assert.ok(acknowledged > 10);
  });

  it('ends when a commit fails with an unknown outcome [SQLITE-35]', async (t) => {
    await using directory = await temporaryDirectory();
    // The kernel limits every file to 400 blocks of 1024 bytes.
    const limited = ['-c', 'ulimit -f 400 && trap "" XFSZ && exec "$@"', 'bash', process.execPath, WRITER];
    const child = spawn('bash', [...limited, directory.path, '20000'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = await linesOf(child, () => false);
    t.diagnostic(lines.join('; ').slice(-300));
    const acknowledged = lines.filter((line) => /^\d+$/.test(line)).length;
    assert.deepEqual(
      lines.slice(acknowledged).map((line) => line.replace(/:.*/, '')),
      ['fatal the database failed', `refused outcome-unknown after ${acknowledged}`],
    );
    await using state = await openState(sqliteEngine({ directory: directory.path }));
    assert.ok((state.snapshot.get(counters, 'last')?.row.value ?? 0) >= acknowledged);
  });

  it('ends with outcome-unknown when a sync fails, and has the write after a restart [SQLITE-35]', async (t) => {
    await using directory = await temporaryDirectory();
    // The writer makes an unknown number of syncs when it opens the file, so that a later one is made to fail.
    const failing = [
      '-f',
      '-qq',
      '-o',
      '/dev/null',
      '-e',
      'trace=fsync,fdatasync',
      '-e',
      'inject=fsync,fdatasync:error=EIO:when=40+',
    ];
    if (spawnSync('strace', ['-qq', '-o', '/dev/null', 'true']).status !== 0) {
      return t.skip('strace is missing, or the system does not allow it');
    }
    const command = [...failing, process.execPath, WRITER, directory.path];
    const child = spawn('strace', command, { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = await linesOf(child, () => false);
    const acknowledged = lines.filter((line) => /^\d+$/.test(line)).length;
    assert.ok(acknowledged > 10, lines.join());
    assert.deepEqual(lines.slice(acknowledged), [
      'fatal the database failed: disk I/O error; the server stops',
      `refused outcome-unknown after ${acknowledged}`,
    ]);
    await using state = await openState(sqliteEngine({ directory: directory.path }));
    const last = state.snapshot.get(counters, 'last')?.row.value ?? 0;
    assert.ok(
      last === acknowledged || last === acknowledged + 1,
      `${acknowledged} were acknowledged, ${last} is there`,
    );
  });
});
