import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { parseCommandLine, USAGE } from './command-line.ts';
import { FAULT_NAMES } from './faults.ts';

const SEED = 3;

/** Splits a command into arguments as a shell does. */
const splitArguments = (command: string): readonly string[] =>
  [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain = '']) => quoted ?? plain);

describe('parseCommandLine', () => {
  test('runs all faults for ten minutes by default', () => {
    assert.deepEqual(parseCommandLine([], SEED), { kind: 'run', minutes: 10, seed: SEED, faults: FAULT_NAMES });
  });

  test('accepts the fault names as the usage line quotes them', () => {
    const [, quoted = ''] = /--faults ('.*')/.exec(USAGE) ?? [];
    const command = parseCommandLine(['--faults', ...splitArguments(quoted)], SEED);
    assert.deepEqual(command, { kind: 'run', minutes: 10, seed: SEED, faults: FAULT_NAMES });
  });

  for (const [args, message] of [
    [['--seeed', '7'], /--seeed/],
    [['--seed', '7.5'], /--seed is '7\.5': want an integer/],
    [['--minutes', 'ten'], /--minutes is 'ten'/],
    [['--faults', 'kill, cut'], /--faults contains ' cut': want names from kill,/],
    [['kill'], /kill/],
  ] as const) {
    test(`reports the invalid argument in ${args.join(' ')}`, () => {
      const command = parseCommandLine(args, SEED);
      assert.match(command.kind === 'error' ? command.message : '', message);
    });
  }

  test('accepts every command of docs/soak.md', () => {
    const document = readFileSync(path.join(import.meta.dirname, '../docs/soak.md'), 'utf8');
    const commands = [...document.matchAll(/^npm run soak(?: -- (.*))?$/gm)].map(([, args = '']) => args);
    assert.ok(commands.length >= 3);
    for (const command of commands) {
      assert.notEqual(parseCommandLine(splitArguments(command), SEED).kind, 'error', command);
    }
  });
});

test('main.ts exits with 0 after --help, and with 2 after an invalid argument', () => {
  const run = (...args: string[]): readonly unknown[] => {
    const program = path.join(import.meta.dirname, 'main.ts');
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
    return [status, stdout, stderr];
  };
  assert.deepEqual(run('--help'), [0, `${USAGE}\n`, '']);
  const [status, stdout, stderr] = run('--seeed', '7');
  assert.deepEqual([status, stdout], [2, '']);
  assert.match(String(stderr), /^soak: .*--seeed.*\nusage: npm run soak -- /);
});
