import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseCommandLine, USAGE } from './command-line.ts';
import { FAULT_NAMES } from './faults.ts';

const SEED = 3;

/** The arguments of a command as a shell takes them apart. */
const argumentsIn = (command: string): readonly string[] =>
  [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain = '']) => quoted ?? plain);

test('without arguments it is ten minutes of all faults', () => {
  assert.deepEqual(parseCommandLine([], SEED), { kind: 'run', minutes: 10, seed: SEED, faults: FAULT_NAMES });
});

test('the usage can be copied as it is shown', () => {
  const [, shown = ''] = /--faults ('.*')/.exec(USAGE) ?? [];
  const asked = parseCommandLine(['--faults', ...argumentsIn(shown)], SEED);
  assert.deepEqual(asked, { kind: 'run', minutes: 10, seed: SEED, faults: FAULT_NAMES });
});

for (const [args, told] of [
  [['--seeed', '7'], /--seeed/],
  [['--seed', '7.5'], /--seed is '7\.5': want a whole number/],
  [['--minutes', 'ten'], /--minutes is 'ten'/],
  [['--faults', 'kill, cut'], /--faults has ' cut': want some of kill,/],
  [['kill'], /kill/],
] as const) {
  test(`what cannot be understood is told: ${args.join(' ')}`, () => {
    const asked = parseCommandLine(args, SEED);
    assert.match(asked.kind === 'wrong' ? asked.reason : '', told);
  });
}

test('every command of the document is understood', () => {
  const document = readFileSync(path.join(import.meta.dirname, '../docs/soak.md'), 'utf8');
  const commands = [...document.matchAll(/^npm run soak(?: -- (.*))?$/gm)].map(([, given = '']) => given);
  assert.ok(commands.length >= 3);
  for (const command of commands) assert.notEqual(parseCommandLine(argumentsIn(command), SEED).kind, 'wrong', command);
});

test('the program tells how it is used: with 0 who asks, with 2 whose use is wrong', () => {
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
