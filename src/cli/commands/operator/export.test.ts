import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { runCli, startStubServer } from '../../../../test/support/process/cli-harness.ts';
import type { LocalCommands } from '../../shell.ts';
import { createExportCheck } from './export-check.ts';

const folder = mkdtempSync(join(tmpdir(), 'accord-export-'));
after(() => rmSync(folder, { recursive: true }));

/** Returns an export with these rows. */
function exported(rows: readonly unknown[], leftOut: Readonly<Record<string, number>> = {}): string {
  const header = { format: 'accord-export', version: 1, index: 42, leftOut };
  const body = [header, ...rows].map((line) => `${JSON.stringify(line)}\n`).join('');
  const sha256 = createHash('sha256').update(body).digest('hex');
  return `${body}${JSON.stringify({ rows: rows.length, sha256 })}\n`;
}

const rows = [{ table: 'partitions', key: 'default', value: '[1,1,1,{}]' }];

test('export writes the file with mode 0600 [SRV-106]', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: exported(rows) }));
  const file = join(folder, 'state.jsonl');
  writeFileSync(file, 'an older one', { mode: 0o644 });
  const { exitCode, stdout, stderr } = await runCli(['export', file, '--address', address]);
  assert.deepEqual([exitCode, stdout, stderr], [0, '', 'Exported 1 rows at index 42.\n']);
  assert.equal(readFileSync(file, 'utf8'), exported(rows));
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual([requests[0]?.method, requests[0]?.path], ['GET', '/v1/operator/export']);
});

test('export - writes to standard output', async (t) => {
  const { address } = await startStubServer(t, () => ({ body: exported(rows) }));
  const { exitCode, stdout } = await runCli(['export', '-', '--address', address]);
  assert.deepEqual([exitCode, stdout], [0, exported(rows)]);
});

test('export sends a passphrase with non-ASCII characters', async (t) => {
  const { address, requests } = await startStubServer(t, () => ({ body: exported(rows) }));
  const passphraseFile = join(folder, 'passphrase');
  writeFileSync(passphraseFile, 'grüße 🔑\n');
  await runCli(['export', '-', '--passphrase-file', passphraseFile, '--address', address]);
  const sent = String(requests[0]?.headers['x-service-export-passphrase']);
  assert.equal(Buffer.from(sent, 'base64').toString(), 'grüße 🔑');
});

test('export reports omitted rows', async (t) => {
  const { address } = await startStubServer(t, () => ({ body: exported(rows, { peerings: 3 }) }));
  const { stderr } = await runCli(['export', '-', '--address', address]);
  assert.match(stderr, /Omitted, create again after an import: 3 of peerings \(/);
});

test('export reports damaged rows that were skipped [SRV-106]', async (t) => {
  const skipped = { auditLog: { count: 2, keys: ['a\u001b', 'b'] }, events: { count: 1, keys: [], unreadable: 'r' } };
  const body = exported(rows).replace(/("rows":1)/, `$1,"skipped":${JSON.stringify(skipped)}`);
  const { address } = await startStubServer(t, () => ({ body }));
  const { exitCode, stderr } = await runCli(['export', '-', '--address', address]);
  assert.equal(exitCode, 0);
  assert.match(stderr, /^Skipped, because they are damaged: 2 of auditLog \('a\\x1b', 'b'\)\.$/m);
  assert.match(stderr, /1 of events \(their keys are unknown; the rows behind them cannot be read: r\)\.$/m);
});

test('export --offline calls no server, and passes the directory and the passphrase on [SQLITE-54]', async () => {
  const passphraseFile = join(folder, 'offline-passphrase');
  writeFileSync(passphraseFile, 'a long passphrase\n');
  const given: unknown[] = [];
  const exportOffline: LocalCommands['exportOffline'] = async (options) => {
    given.push(options);
    return (async function* () {
      yield Buffer.from(exported(rows));
    })();
  };
  const args = ['export', '-', '--offline', '--data-dir', '/data', '--passphrase-file', passphraseFile];
  const { exitCode, stdout } = await runCli(args, { local: { exportOffline } });
  assert.deepEqual([exitCode, stdout], [0, exported(rows)]);
  assert.deepEqual(given, [{ dataDir: '/data', passphrase: 'a long passphrase' }]);
});

const damages: Readonly<Record<string, string>> = {
  'without the end of its last line': exported(rows).slice(0, -20),
  'without its last line': exported(rows).replace(/[^\n]+\n$/, ''),
  'that is empty': '',
  'with a changed byte': exported(rows).replace('default', 'Default'),
};

for (const [what, body] of Object.entries(damages)) {
  test(`rejects an export ${what} and leaves no file`, async (t) => {
    const { address } = await startStubServer(t, () => ({ body }));
    const before = readdirSync(folder);
    const { exitCode, stderr } = await runCli(['export', join(folder, 'damaged.jsonl'), '--address', address]);
    assert.equal(exitCode, 1);
    assert.match(stderr, /the export is (truncated|damaged)/);
    assert.deepEqual(readdirSync(folder), before);
  });
}

test('export keeps the existing file when the server rejects it', async (t) => {
  const { address } = await startStubServer(t, () => ({ status: 403, body: 'Permission denied' }));
  const file = join(folder, 'kept.jsonl');
  writeFileSync(file, 'an older one');
  assert.equal((await runCli(['export', file, '--address', address])).exitCode, 1);
  assert.equal(readFileSync(file, 'utf8'), 'an older one');
});

test('export to a file that cannot be written is a usage error', async (t) => {
  const { address } = await startStubServer(t, () => ({ body: exported(rows) }));
  const { exitCode, stderr } = await runCli(['export', join(folder, 'missing', 'state.jsonl'), '--address', address]);
  assert.equal(exitCode, 2);
  assert.match(stderr, /^accord: cannot write .*state\.jsonl: ENOENT/);
});

test('the check accepts an export split into any chunks', () => {
  const long = exported([{ value: 'x'.repeat(200_000) }, ...rows]);
  const cuts = fc.array(fc.nat({ max: long.length }), { maxLength: 20 });
  fc.assert(
    fc.property(cuts, (positions) => {
      const check = createExportCheck();
      const bytes = Buffer.from(long);
      let from = 0;
      for (const to of [...positions.toSorted((a, b) => a - b), bytes.length]) {
        check.add(bytes.subarray(from, to));
        from = to;
      }
      assert.deepEqual(check.finish(), { index: 42, rows: 2, leftOut: {}, skipped: {} });
    }),
    { numRuns: 30 },
  );
});
