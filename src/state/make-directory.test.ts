import assert from 'node:assert/strict';
import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { makeDirectory } from './make-directory.ts';

describe('makeDirectory', () => {
  it('creates missing parents, tolerates concurrent calls, and leaves an existing directory unchanged', async () => {
    await using folder = await temporaryDirectory();
    const deep = path.join(folder.path, 'a', 'b', 'c');
    await Promise.all([makeDirectory(deep, 0o700), makeDirectory(deep, 0o700), makeDirectory(`${deep}/`, 0o700)]);
    await makeDirectory(deep, 0o755);
    for (const made of [deep, path.dirname(deep)]) assert.equal((await stat(made)).mode & 0o777, 0o700);
    await makeDirectory('/', 0o700);
  });

  it('rejects with the error of the system when a file is in the way', async () => {
    await using folder = await temporaryDirectory();
    const file = path.join(folder.path, 'file');
    await writeFile(file, '');
    await assert.rejects(makeDirectory(file, 0o700), { code: 'EEXIST' });
    await assert.rejects(makeDirectory(path.join(file, 'below'), 0o700), { code: 'ENOTDIR' });
  });

  it('rejects a directory in /proc instead of retrying forever', {
    skip: process.platform !== 'linux',
  }, async () => {
    await assert.rejects(makeDirectory('/proc/accord', 0o700), { code: 'ENOENT' });
    await assert.rejects(makeDirectory('/proc/accord/data', 0o700), { code: 'ENOENT' });
  });
});
