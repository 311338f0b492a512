/**
 * Generates TypeScript from the protobuf messages, with one run of buf for each `buf.gen*.yaml` at the root.
 * With `--check`, writes nothing and fails if a committed file differs from the generated one.
 */
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Folders that contain only generated files. */
const GENERATED = 'src/**/gen/**/*.ts';

function generate(target: string): void {
  for (const template of globSync('buf.gen*.yaml')) {
    execFileSync('buf', ['generate', '--template', template, '--output', target], { stdio: 'inherit' });
  }
}

/** Returns the generated files below `root`, by path. */
function generatedFiles(root: string): Map<string, string> {
  return new Map(globSync(GENERATED, { cwd: root }).map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

function differences(committed: Map<string, string>, made: Map<string, string>): string[] {
  const paths = new Set([...committed.keys(), ...made.keys()]);
  return [...paths].filter((path) => committed.get(path) !== made.get(path)).sort();
}

function check(): void {
  const target = mkdtempSync(join(tmpdir(), 'accord-generate-'));
  try {
    generate(target);
    const stale = differences(generatedFiles('.'), generatedFiles(target));
    if (stale.length > 0) {
      console.error(`Out of date with proto/: ${stale.join(', ')}. Run npm run generate and commit the result.`);
      process.exitCode = 1;
    }
  } finally {
    rmSync(target, { recursive: true });
  }
}

if (process.argv.includes('--check')) {
  check();
} else {
  generate('.');
}
