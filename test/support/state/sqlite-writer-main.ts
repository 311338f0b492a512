/** A process that holds a database and counts up in it, a line for each count that was acknowledged, until it is killed. */
import { writeSync } from 'node:fs';
import { sqliteEngine } from '../../../src/state/engine/sqlite/engine.ts';
import { openState } from './state.ts';
import { counters } from './tables.ts';

const [directory = '', payload = '0'] = process.argv.slice(2);
const stdout = 1;
const say = (line: string): void => void writeSync(stdout, `${line}\n`);
const ballast = 'x'.repeat(Number(payload));

const state = await openState(sqliteEngine({ directory }));
void state.fatal.then((error) => {
  say(`fatal ${error.message}`);
  process.exit(3);
});
for (let value = 1; ; value++) {
  try {
    await state.write((tx) => {
      tx.put(counters, { id: 'last', value, partition: 'p' });
      tx.put(counters, { id: `k${value}`, value, partition: ballast });
    });
  } catch (error) {
    say(`refused ${(error as { code?: string }).code} after ${state.snapshot.get(counters, 'last')?.row.value ?? 0}`);
    process.exit(4);
  }
  say(String(value));
}
