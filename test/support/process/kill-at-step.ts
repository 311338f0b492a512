/**
 * Preload (`node --import`) that ends the process with SIGKILL before one of the steps that change files. It counts the
 * steps of all threads in the file `ACCORD_TEST_STEPS`, one character each, and kills before step `ACCORD_TEST_KILL_AT`.
 */
import fs from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';

const { appendFileSync, statSync } = fs;
const file = process.env['ACCORD_TEST_STEPS'] ?? '';
const killAt = Number(process.env['ACCORD_TEST_KILL_AT'] ?? 0);

function step(): void {
  appendFileSync(file, '.');
  if (statSync(file).size === killAt) process.kill(process.pid, 'SIGKILL');
}

type Methods = Record<string, (...args: unknown[]) => unknown>;

function countCalls(target: object, names: readonly string[]): void {
  const methods = target as Methods;
  for (const name of names) {
    const original = methods[name] as (...args: unknown[]) => unknown;
    methods[name] = function counted(...args) {
      step();
      return original.apply(this, args);
    };
  }
}

countCalls(fs, ['copyFileSync', 'linkSync', 'renameSync', 'rmSync']);
countCalls(promises, ['link', 'open', 'rename', 'rm']);
countCalls(DatabaseSync.prototype, ['exec']);
countCalls(StatementSync.prototype, ['run']);
syncBuiltinESMExports();
