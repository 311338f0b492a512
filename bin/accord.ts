#!/usr/bin/env node
// Only what an old Node can parse stands here: everything else is loaded once the version is known to do.
const NODE_MAJOR_MIN = 26;

if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN) {
  process.stderr.write(`accord: Node.js ${NODE_MAJOR_MIN} or later is needed; this is ${process.versions.node}\n`);
  process.exitCode = 2;
} else {
  // Code stays once it is loaded: it is no reason to make more room for new objects.
  const { inSmallYoungGeneration } = await import('../src/main/young-generation.ts');
  const { run } = await inSmallYoungGeneration(() => import('./run.ts'));
  process.exitCode = await run(process.argv.slice(2));
}
