import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import type { Answer } from '../../../test/support/process/server.ts';
import type { AuditEntry } from '../../audit/record.ts';
import { dataKeyCipher, passphraseCipher, type TextCipher } from '../../state/transfer/encryption.ts';

interface Row {
  readonly table: string;
  readonly key: string;
  readonly value?: string;
  readonly sealed?: string;
}

const PASSPHRASE = 'correct horse bättery';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

const requestExport = (api: Api, passphrase?: string): Promise<Answer> =>
  api.request('GET', '/v1/operator/export', {
    headers: passphrase === undefined ? {} : { 'x-service-export-passphrase': passphrase },
  });

/** Verifies the checksum of an export and returns its parts. */
function parseExport(text: string): { readonly header: Record<string, unknown>; readonly rows: readonly Row[] } {
  const lines = text.split('\n');
  assert.equal(lines.pop(), '', 'the export ends with a newline');
  const end = JSON.parse(lines.pop() ?? '') as { rows: number; sha256: string };
  const before = `${lines.join('\n')}\n`;
  assert.equal(end.sha256, createHash('sha256').update(before).digest('hex'));
  const [header, ...rows] = lines.map((line) => JSON.parse(line));
  assert.equal(end.rows, rows.length);
  return { header, rows };
}

const tables = (rows: readonly Row[]): string[] => [...new Set(rows.map(({ table }) => table))].toSorted();
const decryptRows = (rows: readonly Row[], { decrypt }: TextCipher): string[] =>
  rows.flatMap(({ table, key, sealed }) => (sealed === undefined ? [] : [decrypt(sealed, `${table}\u0000${key}`)]));

describe('an export', () => {
  test('without a key omits rows with secrets and counts them [STATE-93] [STATE-94] [STATE-95]', async () => {
    await using api = await startApi({ clock: createFakeClock(Date.UTC(2030, 0, 1)) });
    await api.makePartitions('eu');
    await api.makeToken(['peering:read']);
    const answer = await requestExport(api);
    assert.deepEqual([answer.status, answer.headers['content-type']], [200, 'application/x-ndjson']);
    const { header, rows } = parseExport(answer.text);
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

  // Verifies [STATE-96].
  test('with a passphrase contains every row, and encrypts those with secrets [SRV-50] [STATE-95]', async () => {
    await using api = await startApi();
    const { AccessorID } = await api.makeToken(['peering:read']);
    const { header, rows } = parseExport((await requestExport(api, base64(PASSPHRASE))).text);
    const keyInfo = header['sealed'] as { key: string; salt: string };
    assert.equal(keyInfo.key, 'passphrase');
    assert.deepEqual(header['leftOut'], {});
    const plain = ['audit', 'cluster', 'partitions', 'users'];
    const secret = ['acl-tokens', 'certificate-authority', 'user-tokens'];
    assert.deepEqual(tables(rows), [...plain, ...secret].toSorted());
    const secrets = decryptRows(rows, await passphraseCipher(PASSPHRASE, keyInfo.salt));
    assert.equal(secrets.length, 4);
    assert.equal(secrets.filter((value) => value.includes(AccessorID)).length, 1);
    const other = await passphraseCipher('correct horse battery', keyInfo.salt);
    assert.throws(() => decryptRows(rows, other));
  });

  test('is encrypted with the data key unless the request has a passphrase [SRV-50] [STATE-95]', async () => {
    const dataKey = dataKeyCipher(Buffer.alloc(32, 7));
    await using api = await startApi({ dataKey });
    const { header, rows } = parseExport((await requestExport(api)).text);
    assert.deepEqual(header['sealed'], { key: 'data-key' });
    assert.equal(decryptRows(rows, dataKey).length, 3);
    const withPassphrase = parseExport((await requestExport(api, base64(PASSPHRASE))).text);
    assert.equal((withPassphrase.header['sealed'] as { key: string }).key, 'passphrase');
  });

  test('contains one snapshot while the state changes [STATE-93]', async () => {
    await using api = await startApi();
    const names = Array.from({ length: 1_500 }, (_, i) => `p${i}`);
    for (let i = 0; i < names.length; i += 100) {
      await Promise.all(names.slice(i, i + 100).map((name) => api.makePartitions(name)));
    }
    const exported = requestExport(api);
    await Promise.all(names.slice(0, 300).map((name) => api.request('DELETE', `/v1/partition/${name}`)));
    const { header, rows } = parseExport((await exported).text);
    // The audit entries of the export show which partitions existed in its snapshot: created, and not deleted since.
    const created = new Set<string>();
    for (const { table, value = '' } of rows) {
      if (table !== 'audit') continue;
      const [, , , entry] = JSON.parse(value) as [number, number, number, AuditEntry];
      if (entry.type !== 'partition') continue;
      if (entry.action === 'delete') created.delete(entry.subject);
      else created.add(entry.subject);
    }
    const exportedKeys = rows.filter(({ table }) => table === 'partitions').map(({ key }) => key);
    assert.deepEqual(exportedKeys.toSorted(), [...created].toSorted());
    assert.ok((header['index'] as number) <= api.state.snapshot.index);
  });
});

describe('the passphrase of an export', () => {
  const rejected = [
    [
      'plain text',
      'correct horse battery staple',
      'X-Service-Export-Passphrase is not the base64 of a passphrase in UTF-8',
    ],
    [
      'bytes that are not UTF-8',
      Buffer.alloc(20, 0xff).toString('base64'),
      'X-Service-Export-Passphrase is not the base64 of a passphrase in UTF-8',
    ],
    ['empty', '', 'the passphrase of an export needs at least 12 characters, this one has 0'],
    [
      '9 characters long',
      base64('swordfish'),
      'the passphrase of an export needs at least 12 characters, this one has 9',
    ],
  ] as const;
  for (const [fault, header, text] of rejected) {
    test(`is rejected with and without a token when it is ${fault}`, async () => {
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
    await requestExport(api, base64(PASSPHRASE));
    assert.ok(!api.log().includes(base64(PASSPHRASE)));
    assert.ok(!api.log().includes(PASSPHRASE));
  });
});

test('HEAD /v1/operator/export returns 200 without a body', async () => {
  await using api = await startApi();
  const answer = await api.request('HEAD', '/v1/operator/export');
  assert.deepEqual([answer.status, answer.text], [200, '']);
});
