/**
 * Makes the TypeScript of the protobuf messages: one run of buf for each `buf.gen*.yaml` at the root.
 * With `--check` nothing is written; the run fails when a committed file is not what would be made.
 */
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Folders that hold generated files and nothing else. */
const GENERATED = 'src/**/gen/**/*.ts';

function generate(target: string): void {
  for (const template of globSync('buf.gen*.yaml')) {
    execFileSync('buf', ['generate', '--template', template, '--output', target], { stdio: 'inherit' });
  }
}

/** The generated files below `root`, by path. */
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
      console.error(`Not what proto/ makes: ${stale.join(', ')}. Run npm run generate and commit the result.`);
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
