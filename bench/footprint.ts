/** What a server costs that nobody uses yet: from source and as built. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ServerOptions, startServer } from '../test/support/process/server.ts';
import { atMost, type Figure, median, type ReportFigures } from './support/figures.ts';
import { residentBytes } from './support/resident-memory.ts';

const ROUNDS = 3;
/** The start's garbage is collected, and what is lazy has been done. */
const SETTLE_MS = 1_500;

export async function benchFootprint(report: ReportFigures): Promise<void> {
  const root = path.resolve(import.meta.dirname, '..');
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
  const source = await measure('from source', { entry: path.join(root, 'bin/accord.ts') }, 160);
  // As installed: only the launcher of the source has a cache, which takes 12 MB of its own.
  const environment = { NODE_DISABLE_COMPILE_CACHE: '1' };
  const built = await measure('from dist', { entry: path.join(root, 'dist/bin/accord.js'), environment }, 140);
  report('An empty server', [...source, ...built]);
}

async function measure(name: string, program: ServerOptions, megabytes: number): Promise<Figure[]> {
  // The first start of a clone strips types and keeps what it has made when it ends.
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
    atMost(`resident memory, ${name}`, median(bytes) / 1e6, megabytes, 'MB'),
    atMost(`time until ready, ${name}`, median(readyMs) / 1_000, 1, 's'),
  ];
}
