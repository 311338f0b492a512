#!/usr/bin/env node
// This file must parse on old versions of Node.js. Everything else is loaded after the version check.
const NODE_MAJOR_MIN = 26;

if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN) {
  process.stderr.write(`accord: Node.js ${NODE_MAJOR_MIN} or later is needed; this is ${process.versions.node}\n`);
  process.exitCode = 2;
} else {
  const { fitHeapToMachine } = await import('../src/main/heap-limit.ts');
  if (process.argv.includes('server')) fitHeapToMachine();
  const { withFixedYoungGeneration } = await import('../src/main/young-generation.ts');
  const { run } = await withFixedYoungGeneration(() => import('./run.ts'));
  process.exitCode = await run(process.argv.slice(2));
}
