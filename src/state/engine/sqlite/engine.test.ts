import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openLoadedNode, openNode, put } from '../../../../test/support/state/engine-node.ts';
import { sqliteStore } from '../../../../test/support/state/store.ts';
import { isStateError } from '../../errors.ts';
import { engineContract } from '../contract.suite.ts';

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
