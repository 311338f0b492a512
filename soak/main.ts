/** `npm run soak [-- --minutes 10 --seed N --faults kill,cut]`: see docs/soak.md. */
import { parseArgs } from 'node:util';
import { FAULT_NAMES, type FaultName } from './faults.ts';
import { isClean, reportText, tooMuchMemory } from './report.ts';
import { runSoak } from './run-soak.ts';

const USAGE = `usage: npm run soak -- [--minutes N] [--seed N] [--faults ${FAULT_NAMES.map((name) => `'${name}'`).join(',')}]`;

/** What the command line asks for; undefined: it cannot be understood. */
function settings(): { minutes: number; seed: number; faults: readonly FaultName[] } | undefined {
  const { values } = parseArgs({
    options: { minutes: { type: 'string' }, seed: { type: 'string' }, faults: { type: 'string' } },
  });
  const minutes = Number(values.minutes ?? 10);
  const seed = Number(values.seed ?? Date.now() % 2 ** 31);
  const names = (values.faults ?? FAULT_NAMES.join(',')).split(',');
  const faults = FAULT_NAMES.filter((name) => names.includes(name));
  if (!(minutes > 0) || !Number.isSafeInteger(seed) || faults.length < names.length) return undefined;
  return { minutes, seed, faults };
}

const asked = settings();
if (asked === undefined) {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
} else {
  const ending = new AbortController();
  // The second one ends it at once, as if nobody listened.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort());
  const { minutes, ...options } = asked;
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  try {
    const report = await runSoak({ ...options, length: { minutes }, say, signal: ending.signal });
    process.stdout.write(`${reportText(report)}\n`);
    process.exitCode = isClean(report) && tooMuchMemory(report).length === 0 ? 0 : 1;
  } catch (error) {
    if (!ending.signal.aborted) throw error;
    say('ended early; everything is cleaned up');
    process.exitCode = 1;
  }
}
