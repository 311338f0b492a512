import assert from 'node:assert/strict';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import {
  CredentialsFileError,
  credentialsPath,
  readCredentials,
  setCredentialsAside,
  writeCredentials,
} from './credentials-file.ts';

const content = {
  address: 'http://127.0.0.1:8500',
  peering: { accessorId: 'a', secretId: 's' },
  teamAccess: { username: 'admin', token: 't' },
};

test('the file is for its owner alone, and what was written is read', async () => {
  await using directory = await temporaryDirectory();
  const deep = path.join(directory.path, 'data');
  assert.equal(await readCredentials(deep), undefined);
  await writeCredentials(deep, content);
  assert.equal((await stat(credentialsPath(deep))).mode & 0o777, 0o600);
  assert.deepEqual(await readCredentials(deep), content);
  assert.deepEqual(await readdir(deep), ['credentials.json'], 'nothing temporary is left');
});

test('a file that is there is never written over', async () => {
  await using at = await temporaryDirectory();
  const directory = at.path;
  await writeFile(credentialsPath(directory), 'mine');
  await assert.rejects(writeCredentials(directory, content), { code: 'EEXIST' });
  assert.equal(await readFile(credentialsPath(directory), 'utf8'), 'mine');
  assert.deepEqual(await readdir(directory), ['credentials.json']);
});

for (const text of ['', 'mine', '{}', 'null', '{"address":1,"peering":{},"teamAccess":{}}']) {
  test(`a file with ${JSON.stringify(text)} is told from ours`, async () => {
    await using at = await temporaryDirectory();
    const directory = at.path;
    await writeFile(credentialsPath(directory), text);
    await assert.rejects(readCredentials(directory), CredentialsFileError);
  });
}

test('a file that is set aside keeps its content under another name', async () => {
  await using at = await temporaryDirectory();
  const directory = at.path;
  assert.equal(await setCredentialsAside(directory, 0), undefined);
  await writeCredentials(directory, content);
  const aside = await setCredentialsAside(directory, Date.UTC(2030, 0, 1));
  assert.equal(aside, path.join(directory, 'credentials.2030-01-01T000000.000Z.json'));
  assert.deepEqual(await readFile(aside ?? '', 'utf8'), `${JSON.stringify(content, null, 2)}\n`);
  assert.equal(await readCredentials(directory), undefined);
});
