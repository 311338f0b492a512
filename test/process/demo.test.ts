/** The demo as a stranger runs it: `node demo/main.ts`, with everything that it starts. */
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
/** Seconds on a machine that is free; this one may be busy, and starts some sixty programs for it. */
const DEMO_MS_MAX = 240_000;

interface Demo extends AsyncDisposable {
  readonly process: ChildProcess;
  /** What it has printed so far. */
  output(): string;
  /** Waits until it has printed this. @returns the first group */
  printed(pattern: RegExp): Promise<string>;
  /** @returns its exit code */
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
      // It cleans up after itself, if it is let.
      child.kill('SIGTERM');
      await closed;
    },
  };
}

/** Nobody listens at the servers that a demo said it had started. */
async function assertServersAreGone(output: string): Promise<void> {
  const addresses = [...output.matchAll(/Accord is at (\S+)/g)].map(([, address = '']) => address);
  assert.ok(addresses.length > 0, output);
  for (const address of addresses) await assert.rejects(fetch(`${address}/healthz`), address);
}

describe('the demo, kept running', () => {
  const demo = startDemo(['--keep'], { ACCORD_ADDRESS: 'http://127.0.0.1:1', ACCORD_TOKEN: 'of somebody else' });
  after(() => demo[Symbol.asyncDispose]());
  let folder = '';

  test('holds in every step, whatever settings there are around it', async () => {
    folder = await demo.printed(/cd (\S+) && \. \.\/env\.sh\n(?:.*\n)*Ctrl-C/);
    assert.match(demo.output(), /^All \d+ steps passed, in \d+\.\d s\.$/m);
  });

  test('prints no colours where there is no terminal, and no secret', () => {
    assert.ok(!demo.output().includes('\u001b'));
    assert.doesNotMatch(demo.output(), /atlasv1|secretId/);
  });

  test('can be tried further by the words that it prints', async () => {
    const script = `cd ${folder} && . ./env.sh && accord peering list --data-dir east &&
      accord team list acme --address $WEST --api-token-file ada.token`;
    const { stdout } = await promisify(execFile)('sh', ['-c', script]);
    assert.match(stdout, /^west +default +ACTIVE/m);
    assert.match(stdout, /^review +secret/m);
  });

  test('is over when it is interrupted: no server, no folder', async () => {
    demo.process.kill('SIGINT');
    assert.equal(await demo.ended(), 0);
    assert.ok(!existsSync(folder));
    await assertServersAreGone(demo.output());
  });
});

test('a demo that is ended in the middle leaves nothing', async () => {
  await using demo = startDemo();
  await demo.printed(/(\$ accord status)/);
  demo.process.kill('SIGTERM');
  assert.equal(await demo.ended(), 143);
  const folder = /in (\S+)\n/.exec(demo.output())?.[1] ?? '';
  assert.ok(folder !== '' && !existsSync(folder), folder);
  await assertServersAreGone(demo.output());
});

test('a demo whose step does not hold says which, and ends with 1', async () => {
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

test('a demo that is asked how it is used says so with 0, and with 2 where the use is wrong', async () => {
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
