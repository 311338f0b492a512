/** Tests of damaged databases and logs. `test/state/sqlite-damage.long.ts` tries more damages. */
import assert from 'node:assert/strict';
import { cpSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { createDatabase, readAll, tryDamages } from '../../../../test/support/state/database-damage.ts';
import { openLoadedNode, put, testTimeout } from '../../../../test/support/state/engine-node.ts';
import { openState } from '../../../../test/support/state/state.ts';
import { events } from '../../../../test/support/state/tables.ts';
import { temporaryDirectory } from '../../../../test/support/temporary-directory.ts';
import { isStateError } from '../../errors.ts';
import { exportState } from '../../transfer/export.ts';
import type { Engine } from '../engine.ts';
import { DamageError } from './damage.ts';
import { openDatabase } from './database.ts';
import { sqliteEngine } from './engine.ts';
import { type EncodedOperations, PUT } from './messages.ts';

const SEED = 20_261_122;
const TRIALS = 60;
/** The bytes of a frame of the log: its header and a page. */
const PAGE_BYTES = 4_096;
const FRAME_BYTES = 24 + PAGE_BYTES;
const LOG_HEADER_BYTES = 32;

/** Returns a directory with the files that a killed process left, and the content of its database. */
async function killedDatabase(): Promise<{ directory: string; content: unknown } & AsyncDisposable> {
  const temporary = await temporaryDirectory();
  createDatabase(temporary.path);
  const directory = path.join(temporary.path, 'killed');
  const copy = path.join(temporary.path, 'copy');
  cpSync(directory, copy, { recursive: true });
  return { directory, content: readAll(copy), [Symbol.asyncDispose]: () => temporary[Symbol.asyncDispose]() };
}

/** Changes one byte of a file. */
function changeByte(file: string, offset: number): void {
  const bytes = readFileSync(file);
  bytes[offset] = (bytes[offset] as number) ^ 1;
  writeFileSync(file, bytes);
}

describe('a damaged database', () => {
  // Verifies [SQLITE-45] [SQLITE-46] [SQLITE-47] [SQLITE-50].
  it('is refused, or read as if it were whole', async (context) => {
    await using directory = await temporaryDirectory();
    const counts = tryDamages({ directory: directory.path, trials: TRIALS, seed: SEED });
    context.diagnostic(`seed ${SEED}: ${JSON.stringify(counts)}`);
    assert.ok(counts.right > 0 && counts.refused > 0);
  });

  it('is refused if the log has whole commits behind a bad frame, and stays unchanged [SQLITE-49]', async () => {
    await using killed = await killedDatabase();
    const log = path.join(killed.directory, 'accord.db-wal');
    // Without this file, only the log itself shows the loss.
    rmSync(path.join(killed.directory, 'accord.db.head'));
    const frames = Math.floor((statSync(log).size - LOG_HEADER_BYTES) / FRAME_BYTES);
    for (const offset of [20, LOG_HEADER_BYTES + 10, LOG_HEADER_BYTES + Math.floor(frames / 2) * FRAME_BYTES + 100]) {
      changeByte(log, offset);
      const damaged = readFileSync(log);
      assert.throws(
        () => readAll(killed.directory),
        (error) => {
          assert.ok(error instanceof DamageError);
          return /its log '.*accord\.db-wal' is damaged: (its header|frame \d+, at byte \d+,) is damaged, and commits/.test(
            error.message,
          );
        },
      );
      assert.deepEqual(readFileSync(log), damaged);
      changeByte(log, offset);
    }
    assert.deepEqual(readAll(killed.directory), killed.content);
  });

  it('is refused if its log was cut off, as accord.db.head shows; without that file it is an earlier commit [SQLITE-50]', async () => {
    await using killed = await killedDatabase();
    const log = path.join(killed.directory, 'accord.db-wal');
    truncateSync(log, statSync(log).size - 2 * FRAME_BYTES);
    assert.throws(() => readAll(killed.directory), /it ends at index \d+, but index 61 was committed/);
    rmSync(path.join(killed.directory, 'accord.db.head'));
    const { head } = readAll(killed.directory) as { head: { index: number } };
    assert.ok(head.index > 31 && head.index < 61, String(head.index));
  });

  it('is refused if it is missing or empty, but another file shows that it was not [SQLITE-49] [SQLITE-50]', async () => {
    await using killed = await killedDatabase();
    truncateSync(path.join(killed.directory, 'accord.db'));
    assert.throws(() => readAll(killed.directory), /missing or empty, but '.*accord\.db\.head' shows that index 61/);
    rmSync(path.join(killed.directory, 'accord.db.head'));
    assert.throws(() => readAll(killed.directory), /missing or empty, but its log '.*accord\.db-wal' is not/);
  });

  it('is refused as locked, not as damaged, while another process uses it [SQLITE-49]', async () => {
    await using killed = await killedDatabase();
    const log = path.join(killed.directory, 'accord.db-wal');
    await using holder = await openLoadedNode(sqliteEngine({ directory: killed.directory }));
    for (const value of ['"a"', '"b"', '"c"']) await holder.commit([put('k', value)]);
    changeByte(log, LOG_HEADER_BYTES + 10);
    await using second = sqliteEngine({ directory: killed.directory });
    await assert.rejects(openLoadedNode(second), (error) => isStateError(error, 'locked'));
  });

  it('is moved from the log to the file at the next start [SQLITE-51]', async () => {
    await using killed = await killedDatabase();
    const log = path.join(killed.directory, 'accord.db-wal');
    assert.ok(statSync(log).size > 0);
    await using node = await openLoadedNode(sqliteEngine({ directory: killed.directory }));
    assert.equal(statSync(log).size, 0);
    assert.equal(node.head().index, 61);
  });
});

describe('a row that is damaged while the server runs', () => {
  it('is null in a scan, also if its page is unreadable [SQLITE-48]', async () => {
    await using directory = await temporaryDirectory();
    const file = path.join(directory.path, 'accord.db');
    const database = openDatabase(file);
    const { epoch, index } = database.head();
    const operations = ['a', 'b', 'c', 'd'].flatMap((key) => [PUT, 't', key, `"${key.repeat(3_000)}"`]);
    database.commit(epoch, index, operations.join('\u0000') as EncodedOperations, () => undefined);
    database.close();
    const scanned = (): (string | null)[] => {
      // Does not load, because a load would refuse the file.
      const damaged = openDatabase(file);
      const { keys, values } = damaged.scan('t', { limit: 10 });
      damaged.close();
      return keys.map((key, i) => (values[i] === null ? null : key));
    };
    changeByte(file, readFileSync(file).indexOf('bbbb'));
    assert.deepEqual(scanned(), ['a', null, 'c', 'd']);
    const bytes = readFileSync(file);
    const at = bytes.indexOf('cccc');
    bytes.fill(0xff, at - (at % PAGE_BYTES), at - (at % PAGE_BYTES) + PAGE_BYTES);
    writeFileSync(file, bytes);
    assert.deepEqual(scanned(), ['a', null, null, 'd']);
  });

  it('is skipped by scans and exports, which name it [SQLITE-48]', async () => {
    await using directory = await temporaryDirectory();
    const logged: unknown[] = [];
    const log = (_level: string, message: string, fields?: unknown): void => void logged.push([message, fields]);
    const engine = sqliteEngine({ directory: directory.path });
    const scan: Engine['scan'] = async (...range) =>
      (await engine.scan(...range)).map((row) => (row.key === 'c' ? { ...row, value: null } : row));
    await using state = await openState({ ...engine, scan }, { log });
    for (const id of ['a', 'b', 'c', 'd', 'e']) await state.write((tx) => tx.append(events, { id, text: '' }));
    const ids = async (limit: number, reverse: boolean): Promise<string[]> =>
      (await state.scan(events, { limit, reverse }, testTimeout())).map(({ row }) => row.id);
    assert.deepEqual(
      [await ids(3, false), await ids(3, true)],
      [
        ['a', 'b', 'd'],
        ['e', 'd', 'b'],
      ],
    );
    const reason = "row 'c' of table 'events' does not match its checksum: it is damaged";
    assert.deepEqual(logged.at(-1), ['stored row is damaged', { table: 'events', key: 'c', reason }]);
    const chunks = await Array.fromAsync(exportState(state, { cipher: undefined, now: 0, signal: testTimeout() }));
    const { rows, skipped } = JSON.parse(chunks.at(-1) ?? '') as { rows: number; skipped: unknown };
    assert.deepEqual([rows, skipped], [4, { events: { count: 1, keys: ['c'] } }]);
  });
});
