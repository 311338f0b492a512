/** The demo as a user runs it, `node demo/main.ts`, including the servers that it starts. */
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

const DEMO = path.resolve(import.meta.dirname, '../../demo/main.ts');
/** Timeout for a demo, which starts about sixty programs. An idle machine needs seconds, a busy one needs more. */
const DEMO_MS_MAX = 240_000;

interface Demo extends AsyncDisposable {
  readonly process: ChildProcess;
  /** Returns the output so far. */
  output(): string;
  /** Waits until the output matches. @returns the first group of the match */
  printed(pattern: RegExp): Promise<string>;
  /** Waits for the exit. @returns the exit code */
  ended(): Promise<number | null>;
}

function startDemo(args: readonly string[] = [], environment: NodeJS.ProcessEnv = {}): Demo {
  const child = spawn(process.execPath, [DEMO, ...args], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const closed = once(child, 'close');
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    process: child,
    output: () => output,
    async printed(pattern) {
      await until(`${pattern} is printed`, () => pattern.test(output) || hasEnded(), DEMO_MS_MAX);
      return pattern.exec(output)?.[1] ?? assert.fail(`it ended without ${pattern}:\n${output}`);
    },
    async ended() {
      await closed;
      return child.exitCode;
    },
    async [Symbol.asyncDispose]() {
      // SIGTERM, because the demo then stops its servers and deletes its folder.
      child.kill('SIGTERM');
      await closed;
    },
  };
}

/** Asserts that the servers that a demo has started no longer listen. */
async function assertServersStopped(output: string): Promise<void> {
  const addresses = [...output.matchAll(/Accord is at (\S+)/g)].map(([, address = '']) => address);
  assert.ok(addresses.length > 0, output);
  for (const address of addresses) await assert.rejects(fetch(`${address}/healthz`), address);
}

describe('the demo with --keep', () => {
  const demo = startDemo(['--keep'], { ACCORD_ADDRESS: 'http://127.0.0.1:1', ACCORD_TOKEN: 'unused' });
  after(() => demo[Symbol.asyncDispose]());
  let folder = '';

  test('passes every step, and ignores the settings in its environment', async () => {
    folder = await demo.printed(/cd (\S+) && \. \.\/env\.sh\n(?:.*\n)*.*Ctrl-C/);
    assert.match(demo.output(), /^All \d+ steps passed, in \d+\.\d s\.$/m);
  });

  test('prints no colors without a terminal, and no secret', () => {
    assert.ok(!demo.output().includes('\u001b'));
    assert.doesNotMatch(demo.output(), /atlasv1|secretId/);
  });

  test('prints commands that work while it runs', async () => {
    const script = `cd ${folder} && . ./env.sh && accord peering list --data-dir east &&
      accord team list acme --address $WEST --api-token-file ada.token`;
    const { stdout } = await promisify(execFile)('sh', ['-c', script]);
    assert.match(stdout, /^west +default +ACTIVE/m);
    assert.match(stdout, /^review +secret/m);
  });

  test('stops its servers and deletes its folder at SIGINT', async () => {
    demo.process.kill('SIGINT');
    assert.equal(await demo.ended(), 0);
    assert.ok(!existsSync(folder));
    await assertServersStopped(demo.output());
  });
});

test('a demo stops its servers and deletes its folder at SIGTERM in the middle of a step', async () => {
  await using demo = startDemo();
  await demo.printed(/(\$ accord status)/);
  demo.process.kill('SIGTERM');
  assert.equal(await demo.ended(), 143);
  const folder = /in (\S+)\n/.exec(demo.output())?.[1] ?? '';
  assert.ok(folder !== '' && !existsSync(folder), folder);
  await assertServersStopped(demo.output());
});

test('a demo with a failing step names the step, and exits with code 1', async () => {
  await using programs = await temporaryDirectory();
  const broken = path.join(programs.path, 'dirname');
  await writeFile(broken, '#!/bin/sh\necho "no names today"\n');
  await chmod(broken, 0o755);
  await using demo = startDemo([], { PATH: `${programs.path}:${process.env['PATH']}` });
  assert.equal(await demo.ended(), 1);
  assert.match(demo.output(), /step failed: Start the first cluster.*\nexited with 2, expected to keep running\n/);
  const folder = /in (\S+)\n/.exec(demo.output())?.[1] ?? '';
  assert.ok(folder !== '' && !existsSync(folder), folder);
});

test('a demo prints its usage, and exits with code 0 for --help and 2 for an unknown option', async () => {
  for (const [option, exitCode] of [
    ['--help', 0],
    ['--keeep', 2],
  ] as const) {
    await using demo = startDemo([option]);
    assert.equal(await demo.ended(), exitCode);
    assert.match(demo.output(), /^usage: npm run demo \[-- --keep\]$/m);
    assert.doesNotMatch(demo.output(), /Accord in|^ +at /m);
  }
});
