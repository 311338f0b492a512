/** Runs every test that needs etcd against a later version than Debian's. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { builtEtcdFolder, ETCD_VERSION, missingGo } from '../support/process/etcd-build.ts';
import { skipWithout } from '../support/tools.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** Returns the tests whose files start etcd. */
async function testsWithEtcd(): Promise<string[]> {
  const files = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: ROOT });
  const texts = await Promise.all(files.map((file) => readFile(path.join(ROOT, file), 'utf8')));
  return files.filter((_, i) => /skipWithout\('etcd'\)/.test(texts[i] ?? ''));
}

test(`every test of etcd passes with ${ETCD_VERSION}`, { skip: missingGo() ?? skipWithout('etcd') }, async (t) => {
  const files = await testsWithEtcd();
  assert.ok(files.length > 10, `${files.length} files`);
  const environment: NodeJS.ProcessEnv = {
    ...process.env,
    PATH: `${builtEtcdFolder()}${path.delimiter}${process.env['PATH']}`,
  };
  // A test runner that runs inside another one reports to it, and would not fail.
  delete environment['NODE_TEST_CONTEXT'];
  const flags = ['--test', '--test-concurrency=1', '--test-timeout=300000', '--test-reporter=dot'];
  const child = spawn(process.execPath, [...flags, ...files], { cwd: ROOT, env: environment });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (data: Buffer) => {
      output += data.toString();
    });
  }
  const [code] = await once(child, 'close');
  t.diagnostic(`${files.length} files`);
  assert.equal(code, 0, output.slice(-10_000));
});
