/** Modes of the files that a server creates: other users cannot read them, even in a directory that they can enter. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { describe, test } from 'node:test';
import { startServer } from '../support/process/server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const OTHERS = 0o077;
const NOBODY = '65534';
/** The default umask of most shells. Files are readable by all users. */
const UNDER_OPEN_UMASK = ['sh', '-c', 'umask 022; exec "$@"', 'sh'];
const isRoot = process.getuid?.() === 0;

/** Creates a directory that all users can enter. */
async function openDirectory(): Promise<AsyncDisposable & { readonly path: string }> {
  const parent = await temporaryDirectory();
  const directory = path.join(parent.path, 'data');
  await mkdir(directory);
  for (const folder of [parent.path, directory]) await chmod(folder, 0o755);
  return { path: directory, [Symbol.asyncDispose]: () => parent[Symbol.asyncDispose]() };
}

/** Returns the files whose mode gives other users any permission. */
async function openFiles(directory: string): Promise<readonly string[]> {
  const names = await readdir(directory);
  assert.ok(names.includes('accord.db') && names.includes('credentials.json'), names.join());
  const modes = await Promise.all(names.map(async (name) => (await stat(path.join(directory, name))).mode));
  return names.filter((_, i) => ((modes[i] ?? 0) & OTHERS) !== 0);
}

/** Whether another user of this machine can read a file. */
const isReadableByOthers = (file: string): boolean =>
  spawnSync('setpriv', ['--reuid', NOBODY, '--regid', NOBODY, '--clear-groups', 'cat', file]).status === 0;

describe('the files of a server in a directory that all users can enter', { timeout: 240_000 }, () => {
  // Verifies [SQLITE-1] [SQLITE-3] [SQLITE-6].
  test('are private whatever the umask, and the server logs a warning about the directory [SRV-29]', async () => {
    await using directory = await openDirectory();
    await using server = await startServer({ dataDirectory: directory.path, commandPrefix: UNDER_OPEN_UMASK });
    await server.request('PUT', '/v1/partition/eu', { body: {} });
    assert.deepEqual(await openFiles(directory.path), []);
    if (isRoot) assert.ok(!isReadableByOthers(path.join(directory.path, 'accord.db-wal')));
    assert.match(server.log(), /"mode":"755","remedy":"chmod 700 '.*data'.*"msg":"data-dir is open to others"/);
  });

  test('become private at the next start if they were readable by others [SQLITE-1, SQLITE-4]', async () => {
    await using directory = await openDirectory();
    const options = { dataDirectory: directory.path, commandPrefix: UNDER_OPEN_UMASK };
    await using first = await startServer(options);
    await first.stop('SIGKILL');
    const names = (await readdir(directory.path)).filter((name) => name.startsWith('accord.db'));
    assert.ok(names.includes('accord.db-wal'), names.join());
    for (const name of names) await chmod(path.join(directory.path, name), 0o644);
    if (isRoot) assert.ok(isReadableByOthers(path.join(directory.path, 'accord.db')));
    await using second = await startServer(options);
    assert.equal((await second.request('GET', '/v1/partitions')).status, 200);
    assert.deepEqual(await openFiles(directory.path), []);
  });

  test('cause no warning if the server has created the directory [SQLITE-2, SQLITE-6]', async () => {
    await using parent = await temporaryDirectory();
    const settings = { 'data-dir': path.join(parent.path, 'data') };
    await using server = await startServer({ dataDirectory: parent.path, settings, commandPrefix: UNDER_OPEN_UMASK });
    assert.equal((await stat(settings['data-dir'])).mode & 0o777, 0o700);
    assert.doesNotMatch(server.log(), /open to others/);
  });
});
