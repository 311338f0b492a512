/** Processes that change files, killed at each step: a layout migration, a rebuild, an offline export, `--recover`. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createLog } from '../../../src/http/telemetry/log.ts';
import { rebuildIfDamaged, removeInterruptedRebuild } from '../../../src/main/damaged-database.ts';
import { openDatabase } from '../../../src/state/engine/sqlite/database.ts';
import { type EncodedOperations, PUT } from '../../../src/state/engine/sqlite/messages.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { killAtEachStep } from './kill-steps.ts';
import { startServer } from './server.ts';

const MAIN = path.resolve(import.meta.dirname, 'kill-steps-main.ts');
const ACCORD = path.resolve(import.meta.dirname, '../../../bin/accord.ts');
const NAMES = ['p1', 'p2', 'p3', 'p4', 'p5'] as const;
const DAMAGED = 'p3';
const SECRET = 'description of ';

const rowOf = (name: string): string => JSON.stringify([1, 2, 2, { name, description: SECRET + name }]);
const fileIn = (directory: string): string => path.join(directory, 'accord.db');

/** The number of kills, spread over all steps. Default: one at each step. */
interface Scenario {
  readonly kills?: number;
}

/** @returns the number of steps */
export async function killDuringMigration({ kills }: Scenario = {}): Promise<number> {
  await using folder = await temporaryDirectory();
  const original = path.join(folder.path, 'original');
  mkdirSync(original);
  using earlier = new DatabaseSync(fileIn(original));
  earlier.exec(`
    CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), cluster TEXT NOT NULL, epoch INTEGER NOT NULL, idx INTEGER NOT NULL);
    CREATE TABLE rows (tbl TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (tbl, key));
    INSERT INTO head VALUES (1, 'c', 1, 7);
    PRAGMA user_version = 1;
  `);
  const insert = earlier.prepare(`INSERT INTO rows VALUES ('partitions', ?, ?)`);
  for (const name of NAMES) insert.run(name, rowOf(name));
  earlier.close();
  return await killAtEachStep({
    folder: folder.path,
    original,
    program: (directory) => [MAIN, 'open', directory],
    ...(kills === undefined ? {} : { kills }),
    verify(directory, step) {
      assert.deepEqual(readNames(directory), NAMES, `step ${step}`);
      using file = new DatabaseSync(fileIn(directory), { readOnly: true });
      const tables = file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
      assert.deepEqual(
        tables.map((row) => row['name']),
        ['head', 'rows'],
        `step ${step}`,
      );
    },
  });
}

/** @returns the number of steps */
export async function killDuringRebuild({ kills }: Scenario = {}): Promise<number> {
  await using folder = await temporaryDirectory();
  const original = path.join(folder.path, 'original');
  createDamagedDatabase(original);
  return await killAtEachStep({
    folder: folder.path,
    original,
    program: (directory) => [MAIN, 'rebuild', directory],
    ...(kills === undefined ? {} : { kills }),
    async verify(directory, step) {
      const log = createLog({ level: 'error', format: 'json' });
      await rebuildIfDamaged(directory, log, new AbortController().signal);
      removeInterruptedRebuild(directory);
      const whole = NAMES.filter((name) => name !== DAMAGED);
      assert.deepEqual(readNames(directory), whole, `step ${step}`);
      const names = readdirSync(directory);
      const kept = names.filter((name) => name.startsWith('accord.db.damaged-'));
      const hasRow = kept.some((name) => readFileSync(path.join(directory, name)).includes(damagedText()));
      assert.ok(hasRow, `step ${step}: the damaged row is kept in ${names.join(', ')}`);
      assert.ok(!names.includes('rebuild'), `step ${step}`);
    },
  });
}

/** @returns the number of steps */
export async function killDuringOfflineExport({ kills }: Scenario = {}): Promise<number> {
  await using folder = await temporaryDirectory();
  const original = path.join(folder.path, 'original');
  createDamagedDatabase(original);
  const args = (directory: string): readonly string[] => {
    const file = path.join(directory, 'export.jsonl');
    return [ACCORD, 'export', file, '--offline', '--data-dir', directory];
  };
  return await killAtEachStep({
    folder: folder.path,
    original,
    program: args,
    ...(kills === undefined ? {} : { kills }),
    verify(directory, step) {
      const again = spawnSync(process.execPath, args(directory), { encoding: 'utf8' });
      assert.equal(again.status, 0, again.stderr);
      const lines = readFileSync(path.join(directory, 'export.jsonl'), 'utf8').trim().split('\n');
      assert.equal(lines.length, NAMES.length + 1, `step ${step}: header, whole rows, and end`);
      const partial = readdirSync(directory).filter((name) => name.endsWith('.partial'));
      assert.deepEqual(partial, [], `step ${step}`);
      assert.ok(readFileSync(fileIn(directory)).includes(damagedText()), `step ${step}: the database is unchanged`);
    },
  });
}

/** Kills a server that starts with `--recover`. @returns the number of steps */
export async function killDuringRecovery({ kills }: Scenario = {}): Promise<number> {
  await using folder = await temporaryDirectory();
  const original = path.join(folder.path, 'original');
  mkdirSync(original);
  const first = await startServer({ dataDirectory: original });
  const { token } = first;
  await first.stop();
  const settings = ['--http-address', '127.0.0.1:0', '--peering-address', '127.0.0.1:0', '--log-format', 'json'];
  return await killAtEachStep({
    folder: folder.path,
    original,
    program: (directory) => [ACCORD, 'server', '--recover', '--data-dir', directory, ...settings],
    isDone: /"msg":"ready"/,
    ...(kills === undefined ? {} : { kills }),
    async verify(directory, step) {
      await using server = await startServer({ dataDirectory: directory });
      for (const each of [token, server.token]) {
        const { status } = await server.request('GET', '/v1/acl/token/self', { token: each });
        assert.equal(status, 200, `step ${step}: ${each === token ? 'the first token' : 'the token in the file'}`);
      }
      const left = readdirSync(directory).filter((name) => /pending|\.tmp$/.test(name));
      assert.deepEqual(left, [], `step ${step}`);
    },
  });
}

function readNames(directory: string): readonly string[] {
  const database = openDatabase(fileIn(directory));
  try {
    return database.scan('partitions', { limit: 100 }).keys;
  } finally {
    database.close();
  }
}

/** The text of the damaged row: its first letter differs. */
const damagedText = (): string => `X${SECRET.slice(1)}${DAMAGED}`;

function createDamagedDatabase(directory: string): void {
  mkdirSync(directory);
  const file = fileIn(directory);
  const database = openDatabase(file);
  const operations = NAMES.flatMap((name) => [PUT, 'partitions', name, rowOf(name)]).join('\u0000');
  database.commit(1, 1, operations as EncodedOperations, () => undefined);
  database.close();
  const bytes = readFileSync(file);
  bytes.write('X', bytes.indexOf(SECRET + DAMAGED));
  writeFileSync(file, bytes);
}
