/** What the SQLite engine does about files that it cannot use, disks that are full, and processes that are killed. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
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
/** Acknowledged counts after which the writer is killed. */
const COUNTS = 40;

/** Opening fails with this code and words. */
async function assertRefused(directory: string, code: StateErrorCode, words: RegExp): Promise<void> {
  await using engine = sqliteEngine({ directory });
  await assert.rejects(openNode(engine), (error) => {
    assert.ok(isStateError(error, code), String(error));
    assert.match(error.message, words);
    return true;
  });
}

/** The lines that a writer says, until it ends or `enough` says so; then it is killed. */
async function linesOf(child: ChildProcess, enough: (line: string) => boolean): Promise<string[]> {
  const lines: string[] = [];
  const ended = once(child, 'exit');
  assert.ok(child.stdout !== null);
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (enough(line)) child.kill('SIGKILL');
  }
  await ended;
  return lines;
}

describe('sqlite file', { timeout: 60_000 }, () => {
  it('that is no database is refused, and left as it is', async () => {
    await using directory = await temporaryDirectory();
    await writeFile(path.join(directory.path, 'accord.db'), 'not a database at all'.repeat(100));
    await assertRefused(directory.path, 'corrupt', /cannot be read.*restore it from an export or a backup/);
  });

  it('of another program is refused', async () => {
    await using directory = await temporaryDirectory();
    const other = new DatabaseSync(path.join(directory.path, 'accord.db'));
    other.exec('CREATE TABLE songs (title TEXT)');
    other.close();
    await assertRefused(directory.path, 'corrupt', /not one of Accord: choose another data-dir$/);
  });

  it('of an earlier version, whose rows lie in the tree of their keys, is read and written as it is', async () => {
    await using directory = await temporaryDirectory();
    const earlier = new DatabaseSync(path.join(directory.path, 'accord.db'));
    earlier.exec(`
      CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), cluster TEXT NOT NULL, epoch INTEGER NOT NULL, idx INTEGER NOT NULL);
      CREATE TABLE rows (tbl TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (tbl, key)) WITHOUT ROWID;
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
  });

  it('of a later version of Accord is refused', async () => {
    await using directory = await temporaryDirectory();
    const later = new DatabaseSync(path.join(directory.path, 'accord.db'));
    later.exec('PRAGMA user_version = 99');
    later.close();
    await assertRefused(
      directory.path,
      'corrupt',
      /layout 99, this version reads up to 1: run the version of Accord that wrote it, or a later one$/,
    );
  });

  it('in a place that is no directory is refused with the place', async () => {
    await using directory = await temporaryDirectory();
    const place = path.join(directory.path, 'file');
    await writeFile(place, '');
    await assertRefused(place, 'unavailable', /file' cannot be used \(E/);
  });

  it('that is a directory is refused as one that cannot be opened, not as a damaged one', async () => {
    await using directory = await temporaryDirectory();
    await mkdir(path.join(directory.path, 'accord.db'));
    await assertRefused(directory.path, 'unavailable', /cannot be opened/);
  });
});

describe('sqlite process', { timeout: 60_000 }, () => {
  it('that is killed gives the file free, with everything that it had acknowledged and nothing half', async () => {
    await using directory = await temporaryDirectory();
    const child = spawn(process.execPath, [WRITER, directory.path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = await linesOf(child, (line) => Number(line) >= COUNTS);
    await using state = await openState(sqliteEngine({ directory: directory.path }));
    const last = state.snapshot.get(counters, 'last')?.row.value ?? 0;
    assert.ok(last >= Number(lines.at(-1)), `${lines.at(-1)} was acknowledged, ${last} is there`);
    assert.equal(state.snapshot.all(counters).length, last + 1, 'each commit is there as a whole');
  });

  it('that lives keeps others out, by its number', async () => {
    await using directory = await temporaryDirectory();
    const child = spawn(process.execPath, [WRITER, directory.path], { stdio: ['ignore', 'pipe', 'inherit'] });
    let refused: Promise<void> | undefined;
    let tried = false;
    await linesOf(child, () => {
      refused ??= assertRefused(directory.path, 'locked', new RegExp(`process ${child.pid} is using`)).finally(() => {
        tried = true;
      });
      return tried;
    });
    await refused;
  });

  it('on a full disk refuses the write and keeps what there was', async (t) => {
    await using directory = await temporaryDirectory();
    // A disk of 3 MB of its own, which goes with the process.
    const mounted = ['-rm', 'sh', '-c', 'mount -t tmpfs -o size=3m tmpfs "$1" && exec "$2" "$3" "$1" 20000', 'sh'];
    if (spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', directory.path]).status !== 0) {
      return t.skip('this system lets nobody mount a small disk');
    }
    const child = spawn('unshare', [...mounted, directory.path, process.execPath, WRITER], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = await linesOf(child, () => false);
    const acknowledged = Number(lines.at(-2));
    assert.equal(lines.at(-1), `refused full after ${acknowledged}`);
    assert.ok(acknowledged > 10);
  });

  it('ends when a write fails and nobody knows what is on the disk', async (t) => {
    await using directory = await temporaryDirectory();
    // The kernel refuses to let any file grow beyond 400 blocks of 1024 bytes.
    const limited = ['-c', 'ulimit -f 400 && trap "" XFSZ && exec "$@"', 'bash', process.execPath, WRITER];
    const child = spawn('bash', [...limited, directory.path, '20000'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = await linesOf(child, () => false);
    t.diagnostic(lines.at(-1) ?? '');
    assert.match(lines.at(-1) ?? '', /^fatal the database failed/);
    await using state = await openState(sqliteEngine({ directory: directory.path }));
    assert.ok((state.snapshot.get(counters, 'last')?.row.value ?? 0) >= lines.length - 1);
  });
});
