import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs, { readdir, stat } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { openLoadedNode, openNode, put, testTimeout } from '../../../../test/support/state/engine-node.ts';
import { openState } from '../../../../test/support/state/state.ts';
import { sqliteStore } from '../../../../test/support/state/store.ts';
import { counters } from '../../../../test/support/state/tables.ts';
import { temporaryDirectory } from '../../../../test/support/temporary-directory.ts';
import { isStateError } from '../../errors.ts';
import { engineContract } from '../contract.suite.ts';
import { sqliteEngine } from './engine.ts';

const MIB = 1024 * 1024;

engineContract('sqlite', sqliteStore);

describe('second engine on a file', () => {
  // Verifies [SQLITE-11].
  it('fails with locked, names the process that holds the file, and leaves its lock [SQLITE-12] [SQLITE-13]', async () => {
    await using store = await sqliteStore();
    await using first = await openLoadedNode(store.engine());
    for (let attempt = 0; attempt < 2; attempt++) {
      const second = store.engine();
      await assert.rejects(
        openNode(second),
        (error) => isStateError(error, 'locked') && error.message.includes(`process ${process.pid}`),
      );
      await second[Symbol.asyncDispose]();
      assert.equal(await first.commit([put('k', 'v')]), 'committed');
    }
  });
});

describe('sqlite engine', () => {
  it('uses no shared memory file, and keeps the file locked after a commit [SQLITE-9]', async () => {
    await using directory = await temporaryDirectory();
    await using node = await openLoadedNode(sqliteEngine({ directory: directory.path }));
    await node.commit([put('k', 'v')]);
    const names = await readdir(directory.path);
    assert.ok(names.includes('accord.db-wal') && !names.includes('accord.db-shm'), names.join());
    await using second = sqliteEngine({ directory: directory.path });
    await assert.rejects(openNode(second), (error) => isStateError(error, 'locked'));
  });

  it('checkpoints after about 16 MiB of changes [SQLITE-24]', async () => {
    await using directory = await temporaryDirectory();
    await using node = await openLoadedNode(sqliteEngine({ directory: directory.path }));
    const walBytesAfter = async (commits: number): Promise<number> => {
      // Equal values would not change a page.
      for (let i = 0; i < commits; i++) await node.commit([put('k', String(i % 10).repeat(MIB))]);
      return (await stat(path.join(directory.path, 'accord.db-wal'))).size;
    };
    const afterTwelve = await walBytesAfter(12);
    assert.ok(afterTwelve > 12 * MIB, `no checkpoint after 12 MiB, but the log has ${afterTwelve} bytes`);
    const afterAll = await walBytesAfter(24);
    assert.ok(afterAll < 20 * MIB, `the log is reused after a checkpoint, but has ${afterAll} bytes`);
  });

  it('serves reads from memory while a commit waits for the disk [SQLITE-26]', async () => {
    await using directory = await temporaryDirectory();
    await using state = await openState(sqliteEngine({ directory: directory.path, simulatedSyncMs: 200 }));
    let isWritten = false;
    const written = state
      .write((tx) => tx.put(counters, { id: 'a', value: 1, partition: 'p' }))
      .then(() => {
        isWritten = true;
      });
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([state.snapshot.get(counters, 'a'), isWritten], [undefined, false]);
    await written;
    assert.equal(state.snapshot.get(counters, 'a')?.row.value, 1);
  });

  it('commits a single write of any size [SQLITE-30]', async () => {
    await using directory = await temporaryDirectory();
    await using state = await openState(sqliteEngine({ directory: directory.path }));
    const partition = 'x'.repeat(MIB);
    const index = await state.write((tx) => {
      for (let i = 0; i < 20_000; i++) tx.put(counters, { id: String(i), value: i, partition: 'p' });
      for (let i = 0; i < 20; i++) tx.put(counters, { id: `large-${i}`, value: i, partition: `${partition}${i}` });
      return state.snapshot.index;
    });
    assert.deepEqual([state.snapshot.index, state.snapshot.count(counters)], [index + 1, 20_020]);
  });

  it('reports a fatal error and rejects pending requests when its thread ends, unless it is closing [SQLITE-36]', async () => {
    await using directory = await temporaryDirectory();
    const started = once(process, 'worker') as Promise<[Worker]>;
    // The thread answers neither request before it ends.
    const node = await openLoadedNode(sqliteEngine({ directory: directory.path, simulatedSyncMs: 60_000 }));
    const [thread] = await started;
    const committing = node.commit([put('k', 'v')]);
    const reading = node.engine.head(testTimeout());
    const ended = thread.terminate();
    await assert.rejects(reading, (error) => isStateError(error, 'unavailable'));
    await assert.rejects(committing, (error) => isStateError(error, 'outcome-unknown'));
    await ended;
    assert.equal(node.fatal.length, 1);
    assert.match(String(node.fatal[0]), /the database failed: its thread ended with code 1/);
    await assert.rejects(node.commit([put('k', 'v')]), (error) => isStateError(error, 'unavailable'));
    await assert.rejects(node.engine.head(testTimeout()), (error) => isStateError(error, 'unavailable'));
    await node[Symbol.asyncDispose]();

    await using other = await sqliteStore();
    const closed = await openLoadedNode(other.engine());
    await closed[Symbol.asyncDispose]();
    assert.deepEqual(closed.fatal, []);
  });

  it('reports that its last contact with the store was 0 ms ago [SQLITE-43]', async () => {
    await using store = await sqliteStore();
    await using node = await openLoadedNode(store.engine());
    assert.equal(node.engine.lastContactMs(), 0);
    await sleep(20);
    assert.equal(node.engine.lastContactMs(), 0);
  });

  for (const [name, type] of [
    ['NFS', 0x6969],
    ['CIFS', 0xff534d42],
    ['SMB', 0xfe534d42],
    ['9p', 0x01021997],
    ['Ceph', 0x00c36400],
  ] as const) {
    it(`rejects a directory on ${name} with unavailable [SQLITE-7]`, async (t) => {
      await using directory = await temporaryDirectory();
      const statfs = t.mock.method(fs, 'statfs', async () => ({ type }));
      syncBuiltinESMExports();
      try {
        await using engine = sqliteEngine({ directory: directory.path });
        await assert.rejects(
          openNode(engine),
          (error) => isStateError(error, 'unavailable') && error.message.includes(`is on ${name}: `),
        );
      } finally {
        statfs.mock.restore();
        syncBuiltinESMExports();
      }
    });
  }
});
