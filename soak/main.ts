/** The program behind `npm run soak`. See docs/soak.md. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseCommandLine, USAGE } from './command-line.ts';
import { excessiveGrowth, isClean, reportText } from './report.ts';
import { runSoak } from './run-soak.ts';

const command = parseCommandLine(process.argv.slice(2), Date.now() % 2 ** 31);
if (command.kind === 'help') {
  process.stdout.write(`${USAGE}\n`);
} else if (command.kind === 'error') {
  process.stderr.write(`soak: ${command.message}\n${USAGE}\n`);
  process.exitCode = 2;
} else {
  // Only a run needs programs, which this may install.
  execFileSync(process.execPath, [join(import.meta.dirname, '../scripts/ensure-tools.ts')], { stdio: 'inherit' });
  const stopping = new AbortController();
  // A second signal has its default effect and ends the process immediately.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
  const { minutes, seed, faults } = command;
  const print = (text: string): void => void process.stderr.write(`${text}\n`);
  try {
    const report = await runSoak({ seed, faults, length: { minutes }, print, signal: stopping.signal });
    process.stdout.write(`${reportText(report)}\n`);
    process.exitCode = isClean(report) && excessiveGrowth(report).length === 0 ? 0 : 1;
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
    print('interrupted; all processes and files are removed');
    process.exitCode = 1;
  }
}
