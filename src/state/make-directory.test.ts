import assert from 'node:assert/strict';
import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { makeDirectory } from './make-directory.ts';

test('a directory is made with those above it, by several at once, and again without a change', async () => {
  await using folder = await temporaryDirectory();
  const deep = path.join(folder.path, 'a', 'b', 'c');
  await Promise.all([makeDirectory(deep, 0o700), makeDirectory(deep, 0o700), makeDirectory(`${deep}/`, 0o700)]);
  await makeDirectory(deep, 0o755);
  for (const made of [deep, path.dirname(deep)]) assert.equal((await stat(made)).mode & 0o777, 0o700);
  await makeDirectory('/', 0o700);
});

test('a directory that cannot be is refused with the error of the system', async () => {
  await using folder = await temporaryDirectory();
  const file = path.join(folder.path, 'file');
  await writeFile(file, '');
  await assert.rejects(makeDirectory(file, 0o700), { code: 'EEXIST' });
  await assert.rejects(makeDirectory(path.join(file, 'below'), 0o700), { code: 'ENOTDIR' });
});

test('a directory in /proc is refused, too, instead of being tried for ever', {
  skip: process.platform !== 'linux',
}, async () => {
  await assert.rejects(makeDirectory('/proc/accord', 0o700), { code: 'ENOENT' });
  await assert.rejects(makeDirectory('/proc/accord/data', 0o700), { code: 'ENOENT' });
});
