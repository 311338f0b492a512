/** `npm run soak [-- --minutes 10 --seed N --faults kill,cut]`: see docs/soak.md. */
import { parseCommandLine, USAGE } from './command-line.ts';
import { isClean, reportText, tooMuchMemory } from './report.ts';
import { runSoak } from './run-soak.ts';

const asked = parseCommandLine(process.argv.slice(2), Date.now() % 2 ** 31);
if (asked.kind === 'help') {
  process.stdout.write(`${USAGE}\n`);
} else if (asked.kind === 'wrong') {
  process.stderr.write(`soak: ${asked.reason}\n${USAGE}\n`);
  process.exitCode = 2;
} else {
  const ending = new AbortController();
  // The second one ends it at once, as if nobody listened.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => ending.abort());
  const { minutes, seed, faults } = asked;
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  try {
    const report = await runSoak({ seed, faults, length: { minutes }, say, signal: ending.signal });
    process.stdout.write(`${reportText(report)}\n`);
    process.exitCode = isClean(report) && tooMuchMemory(report).length === 0 ? 0 : 1;
  } catch (error) {
    if (!ending.signal.aborted) throw error;
    say('ended early; everything is cleaned up');
    process.exitCode = 1;
  }
}
