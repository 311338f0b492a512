import assert from 'node:assert/strict';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import {
  CredentialsFileError,
  credentialsPath,
  moveCredentialsAside,
  readCredentials,
  writeCredentials,
} from './credentials-file.ts';

const content = {
  address: 'http://127.0.0.1:8500',
  peering: { accessorId: 'a', secretId: 's' },
  teamAccess: { username: 'admin', token: 't' },
};

test('writeCredentials creates a file of mode 0600 that readCredentials reads [SRV-38]', async () => {
  await using directory = await temporaryDirectory();
  const dataDirectory = path.join(directory.path, 'data');
  assert.equal(await readCredentials(dataDirectory), undefined);
  await writeCredentials(dataDirectory, content);
  assert.equal((await stat(credentialsPath(dataDirectory))).mode & 0o777, 0o600);
  assert.deepEqual(await readCredentials(dataDirectory), content);
  assert.deepEqual(await readdir(dataDirectory), ['credentials.json'], 'no temporary file remains');
});

test('writeCredentials rejects with EEXIST and keeps an existing file', async () => {
  await using temporary = await temporaryDirectory();
  const directory = temporary.path;
  await writeFile(credentialsPath(directory), 'mine');
  await assert.rejects(writeCredentials(directory, content), { code: 'EEXIST' });
  assert.equal(await readFile(credentialsPath(directory), 'utf8'), 'mine');
  assert.deepEqual(await readdir(directory), ['credentials.json']);
});

for (const text of ['', 'mine', '{}', 'null', '{"address":1,"peering":{},"teamAccess":{}}']) {
  test(`readCredentials rejects a file that contains ${JSON.stringify(text)} [SRV-40]`, async () => {
    await using temporary = await temporaryDirectory();
    const directory = temporary.path;
    await writeFile(credentialsPath(directory), text);
    await assert.rejects(readCredentials(directory), CredentialsFileError);
  });
}

test('moveCredentialsAside renames the file and keeps its content [SRV-45]', async () => {
  await using temporary = await temporaryDirectory();
  const directory = temporary.path;
  assert.equal(await moveCredentialsAside(directory, 0), undefined);
  await writeCredentials(directory, content);
  const target = await moveCredentialsAside(directory, Date.UTC(2030, 0, 1));
  assert.equal(target, path.join(directory, 'credentials.2030-01-01T000000.000Z.json'));
  assert.deepEqual(await readFile(target ?? '', 'utf8'), `${JSON.stringify(content, null, 2)}\n`);
  assert.equal(await readCredentials(directory), undefined);
});
