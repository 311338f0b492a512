/** Measures the memory and the start time of an empty server, from source and from `dist`. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ServerOptions, startServer } from '../test/support/process/server.ts';
import { atMost, type Figure, median, type ReportFigures } from './support/figures.ts';
import { residentBytes } from './support/resident-memory.ts';

const ROUNDS = 3;
/** The time until garbage from the start is collected and lazy initialization has finished. */
const SETTLE_MS = 1_500;

export async function benchFootprint(report: ReportFigures): Promise<void> {
  const root = path.resolve(import.meta.dirname, '..');
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
  const source = await measure('from source', { entry: path.join(root, 'bin/accord.ts') }, 160);
  // The installed program has no compile cache, which takes 12 MB. Only the launcher of the source enables it.
  const environment = { NODE_DISABLE_COMPILE_CACHE: '1' };
  const built = await measure('from dist', { entry: path.join(root, 'dist/bin/accord.js'), environment }, 140);
  report('An empty server', [...source, ...built]);
}

async function measure(name: string, program: ServerOptions, megabytesMax: number): Promise<Figure[]> {
  // The first start of a clone strips types, and writes the compile cache when it ends.
  await using warmUp = await startServer(program);
  await warmUp.stop();
  const bytes: number[] = [];
  const readyMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    await using server = await startServer(program);
    readyMs.push(performance.now() - start);
    await delay(SETTLE_MS);
    bytes.push(residentBytes(server.process.pid ?? 0));
  }
  return [
    atMost(`resident memory, ${name}`, median(bytes) / 1e6, megabytesMax, 'MB'),
    atMost(`time until ready, ${name}`, median(readyMs) / 1_000, 1, 's'),
  ];
}
