/**
 * A program that writes increasing numbers to a database until it is killed. Prints a line for each acknowledged one.
 */
import { writeSync } from 'node:fs';
import { sqliteEngine } from '../../../src/state/engine/sqlite/engine.ts';
import { openState } from './state.ts';
import { counters } from './tables.ts';

const [directory = '', payload = '0'] = process.argv.slice(2);
const stdout = 1;
const printLine = (line: string): void => void writeSync(stdout, `${line}\n`);
const padding = 'x'.repeat(Number(payload));

const state = await openState(sqliteEngine({ directory }));
void state.fatal.then((error) => printLine(`fatal ${error.message}`));
for (let value = 1; ; value++) {
  try {
    await state.write((tx) => {
      tx.put(counters, { id: 'last', value, partition: 'p' });
      tx.put(counters, { id: `k${value}`, value, partition: padding });
    });
  } catch (error) {
    printLine(
      `refused ${(error as { code?: string }).code} after ${state.snapshot.get(counters, 'last')?.row.value ?? 0}`,
    );
    process.exit(4);
  }
  printLine(String(value));
}
