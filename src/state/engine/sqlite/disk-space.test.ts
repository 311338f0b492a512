import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { mountSmallDisk, skipWithoutMount } from '../../../../test/support/process/small-disk.ts';
import { openLoadedNode, put, remove, testTimeout } from '../../../../test/support/state/engine-node.ts';
import { isStateError } from '../../errors.ts';
import { sqliteEngine } from './engine.ts';

const KIBIBYTE = 1024;
const value = (character: string, kibibytes: number): string => JSON.stringify(character.repeat(kibibytes * KIBIBYTE));

describe('the SQLite engine on a small disk', { skip: skipWithoutMount, timeout: 60_000 }, () => {
  it('writes more than the disk holds to the same rows, with a short log [SQLITE-52] [SQLITE-24]', async () => {
    await using disk = await mountSmallDisk(8);
    await using node = await openLoadedNode(sqliteEngine({ directory: disk.path }));
    for (let i = 0; i < 200; i++) await node.commit([put(`k${i % 4}`, value(String(i % 10), 64))]);
    const { size } = statSync(path.join(disk.path, 'accord.db-wal'));
    assert.ok(size < 1024 * KIBIBYTE, `the log has ${size} bytes`);
  });

  it('keeps room for deletions when it rejects additions, and accepts additions after them [SQLITE-52]', async () => {
    await using disk = await mountSmallDisk(8);
    await using node = await openLoadedNode(sqliteEngine({ directory: disk.path }));
    const isFull = (error: unknown): boolean =>
      isStateError(error, 'full') && /nothing was written/.test(error.message);
    const addUntilFull = async (from: number): Promise<number> => {
      for (let number = from; ; number++) {
        try {
          await node.commit([put(`k${number}`, value('x', 16))]);
        } catch (error) {
          assert.ok(isFull(error), String(error));
          return number;
        }
      }
    };
    const freeBytes = async () => (await node.engine.space(testTimeout()))?.freeBytes ?? 0;
    const count = await addUntilFull(0);
    assert.ok((await freeBytes()) < 1024 * KIBIBYTE);
    assert.ok(count > 100, `${count} rows of 16 KiB`);
    // Each deletion leaves an audit entry, as in a server.
    for (let number = 0; number < count; number++) {
      await node.commit([remove(`k${number}`), put(`e${number}`, value('y', 1), 'audit')]);
    }
    assert.ok((await freeBytes()) > 1024 * KIBIBYTE, 'free pages of the file count as room [STATE-119]');
    const again = await addUntilFull(count);
    assert.ok(again - count > count / 2, `${again - count} rows after the deletions`);
    await node.commit([remove(`k${count}`)]);
  });
});
