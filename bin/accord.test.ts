import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const folder = mkdtempSync(join(tmpdir(), 'accord-bin-'));
after(() => rmSync(folder, { recursive: true }));

const program = join(import.meta.dirname, 'accord.ts');

/** Runs the program as a child process in an empty folder. */
function run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): SpawnSyncReturns<string> {
  const env = { PATH: process.env['PATH'], ...environment };
  return spawnSync(process.execPath, [program, ...args], { cwd: folder, encoding: 'utf8', env });
}

test('accord version prints the version of the package', () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8'));
  const { status, stdout, stderr } = run(['version']);
  assert.deepEqual([status, stdout, stderr], [0, `accord ${version}\n`, '']);
});

test('accord config shows the origin of every setting', () => {
  writeFileSync(join(folder, 'accord.yaml'), 'log:\n  level: warn\nstale.max-age: 5m\n');
  const environment = {
    ACCORD_LOG_LEVEL: 'debug',
    ACCORD_DATA_KEY: 'c2VjcmV0',
    ACCORD_TOKEN: 'x',
    ACCORD_TEST_SKIP: 'etcd',
  };
  const { status, stdout, stderr } = run(['config', '--json', '--store', 'etcd'], environment);
  assert.deepEqual([status, stderr], [0, '']);
  const shown = JSON.parse(stdout);
  assert.deepEqual(shown['store'], { value: 'etcd', from: '--store' });
  assert.deepEqual(shown['log.level'], { value: 'debug', from: 'ACCORD_LOG_LEVEL' });
  assert.deepEqual(shown['stale.max-age'], { value: '5m', from: './accord.yaml:3' });
  assert.deepEqual(shown['data-key-file'], { value: 'hidden', from: 'ACCORD_DATA_KEY' });
  assert.ok(!stdout.includes('c2VjcmV0'));
});

test('server and config exit with 2 and one line when a setting is invalid', () => {
  for (const command of ['server', 'config']) {
    const { status, stdout, stderr } = run([command, '--team-access-rate-limit', '3']);
    assert.deepEqual([status, stdout], [2, '']);
    const wanted = 'want a whole number from 4 to 1000000, or 0 (off)';
    assert.equal(stderr, `accord: team-access.rate-limit from --team-access-rate-limit is "3": ${wanted}\n`);
  }
});

test('the help of server and config lists a flag for every setting', () => {
  for (const command of ['server', 'config']) {
    const { stdout } = run([command, '--help']);
    for (const flag of ['--data-dir', '--http-tls-cert', '--etcd-password-file', '--shutdown-grace', '--config']) {
      assert.ok(stdout.includes(`${flag} <`), flag);
    }
    assert.doesNotMatch(stdout, /--data-key |--etcd-password /);
  }
});

test('accord status exits with 3 when the server is unreachable', () => {
  const { status, stdout, stderr } = run(['status'], { ACCORD_ADDRESS: 'http://127.0.0.1:1' });
  assert.deepEqual([status, stdout], [3, '']);
  assert.match(stderr, /^accord: cannot reach http:\/\/127\.0\.0\.1:1: connect ECONNREFUSED/);
});
