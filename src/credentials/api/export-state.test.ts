import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import type { Answer } from '../../../test/support/process/server.ts';
import type { AuditEntry } from '../../audit/record.ts';
import { dataKeySealer, passphraseSealer, type Sealer } from '../../state/transfer/encryption.ts';

interface Row {
  readonly table: string;
  readonly key: string;
  readonly value?: string;
  readonly sealed?: string;
}

const PASSPHRASE = 'correct horse bättery';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

const ask = (api: Api, passphrase?: string): Promise<Answer> =>
  api.request('GET', '/v1/operator/export', {
    headers: passphrase === undefined ? {} : { 'x-service-export-passphrase': passphrase },
  });

/** The parts of an export, after its checksum was found right. */
function read(text: string): { readonly header: Record<string, unknown>; readonly rows: readonly Row[] } {
  const lines = text.split('\n');
  assert.equal(lines.pop(), '', 'it ends with a newline');
  const end = JSON.parse(lines.pop() ?? '') as { rows: number; sha256: string };
  const before = `${lines.join('\n')}\n`;
  assert.equal(end.sha256, createHash('sha256').update(before).digest('hex'));
  const [header, ...rows] = lines.map((line) => JSON.parse(line));
  assert.equal(end.rows, rows.length);
  return { header, rows };
}

const tables = (rows: readonly Row[]): string[] => [...new Set(rows.map(({ table }) => table))].toSorted();
const opened = (rows: readonly Row[], { unseal }: Sealer): string[] =>
  rows.flatMap(({ table, key, sealed }) => (sealed === undefined ? [] : [unseal(sealed, `${table}\u0000${key}`)]));

describe('an export', () => {
  test('without a key leaves out what holds secrets, and counts it', async () => {
    await using api = await startApi({ clock: createFakeClock(Date.UTC(2030, 0, 1)) });
    await api.makePartitions('eu');
    await api.makeToken(['peering:read']);
    const answer = await ask(api);
    assert.deepEqual([answer.status, answer.headers['content-type']], [200, 'application/x-ndjson']);
    const { header, rows } = read(answer.text);
    const { cluster, epoch, index } = api.state.snapshot;
    assert.deepEqual(header, {
      format: 'accord-export',
      version: 1,
      cluster,
      epoch,
      index,
      time: '2030-01-01T00:00:00.000Z',
      sealed: null,
      leftOut: { 'acl-tokens': 2, 'user-tokens': 1, 'certificate-authority': 1 },
    });
    assert.deepEqual(tables(rows), ['audit', 'cluster', 'partitions', 'users']);
    assert.equal(rows.filter(({ table }) => table === 'partitions').length, 2);
    assert.equal(rows.filter(({ table }) => table === 'audit').length, 6);
  });

  test('with a passphrase has everything, secrets sealed with it', async () => {
    await using api = await startApi();
    const { AccessorID } = await api.makeToken(['peering:read']);
    const { header, rows } = read((await ask(api, base64(PASSPHRASE))).text);
    const recipe = header['sealed'] as { key: string; salt: string };
    assert.equal(recipe.key, 'passphrase');
    assert.deepEqual(header['leftOut'], {});
    const plain = ['audit', 'cluster', 'partitions', 'users'];
    const secret = ['acl-tokens', 'certificate-authority', 'user-tokens'];
    assert.deepEqual(tables(rows), [...plain, ...secret].toSorted());
    const secrets = opened(rows, await passphraseSealer(PASSPHRASE, recipe.salt));
    assert.equal(secrets.length, 4);
    assert.equal(secrets.filter((value) => value.includes(AccessorID)).length, 1);
    const other = await passphraseSealer('correct horse battery', recipe.salt);
    assert.throws(() => opened(rows, other));
  });

  test('is sealed with the data key unless there is a passphrase', async () => {
    const dataKey = dataKeySealer(Buffer.alloc(32, 7));
    await using api = await startApi({ dataKey });
    const { header, rows } = read((await ask(api)).text);
    assert.deepEqual(header['sealed'], { key: 'data-key' });
    assert.equal(opened(rows, dataKey).length, 3);
    const withPassphrase = read((await ask(api, base64(PASSPHRASE))).text);
    assert.equal((withPassphrase.header['sealed'] as { key: string }).key, 'passphrase');
  });

  test('is one picture, whatever is written meanwhile', async () => {
    await using api = await startApi();
    const names = Array.from({ length: 1_500 }, (_, i) => `p${i}`);
    for (let i = 0; i < names.length; i += 100) {
      await Promise.all(names.slice(i, i + 100).map((name) => api.makePartitions(name)));
    }
    const exported = ask(api);
    await Promise.all(names.slice(0, 300).map((name) => api.request('DELETE', `/v1/partition/${name}`)));
    const { header, rows } = read((await exported).text);
    // What an index says is there is what its audit entries say was made and not deleted by then.
    const living = new Set<string>();
    for (const { table, value = '' } of rows) {
      if (table !== 'audit') continue;
      const [, , , entry] = JSON.parse(value) as [number, number, number, AuditEntry];
      if (entry.type !== 'partition') continue;
      if (entry.action === 'delete') living.delete(entry.subject);
      else living.add(entry.subject);
    }
    const there = rows.filter(({ table }) => table === 'partitions').map(({ key }) => key);
    assert.deepEqual(there.toSorted(), [...living].toSorted());
    assert.ok((header['index'] as number) <= api.state.snapshot.index);
  });
});

describe('the passphrase of an export', () => {
  const refused = [
    [
      'plain text',
      'correct horse battery staple',
      'X-Service-Export-Passphrase is not the base64 of a passphrase in UTF-8',
    ],
    [
      'bytes that are no UTF-8',
      Buffer.alloc(20, 0xff).toString('base64'),
      'X-Service-Export-Passphrase is not the base64 of a passphrase in UTF-8',
    ],
    ['nothing', '', 'the passphrase of an export needs at least 12 characters, this one has 0'],
    ['a word', base64('swordfish'), 'the passphrase of an export needs at least 12 characters, this one has 9'],
  ] as const;
  for (const [what, header, text] of refused) {
    test(`that is ${what} is refused, whoever asks`, async () => {
      await using api = await startApi();
      for (const token of [api.token, null]) {
        const headers = { 'x-service-export-passphrase': header };
        const answer = await api.request('GET', '/v1/operator/export', { headers, token });
        assert.deepEqual([answer.status, answer.text], [400, text]);
      }
    });
  }

  test('is never logged', async () => {
    await using api = await startApi();
    await ask(api, base64(PASSPHRASE));
    assert.ok(!api.log().includes(base64(PASSPHRASE)));
    assert.ok(!api.log().includes(PASSPHRASE));
  });
});

test('a HEAD of the export has no body', async () => {
  await using api = await startApi();
  const answer = await api.request('HEAD', '/v1/operator/export');
  assert.deepEqual([answer.status, answer.text], [200, '']);
});
