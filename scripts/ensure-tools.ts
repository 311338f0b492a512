/**
 * Provides the programs that tests need, before `npm test` starts. It looks on the PATH and in the user's cache folder,
 * and otherwise fetches packages with apt. It fails with one line per program that is missing.
 *
 * Packages that would start a service are unpacked instead of installed, so that a test run never leaves a daemon
 * behind.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  findTool,
  SKIP_VARIABLE,
  skippedTools,
  type Tool,
  type ToolName,
  tool,
  toolNames,
  unpackFolder,
} from '../test/support/tools.ts';

/** Runs a program to its end. @throws Error with the program's output when it fails or is missing */
function run(command: string, args: readonly string[], { cwd }: { cwd?: string } = {}): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  execFileSync(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
}

function hasApt(): boolean {
  try {
    run('apt-get', ['--version']);
    run('dpkg-deb', ['--version']);
    return true;
  } catch {
    return false;
  }
}

function install({ debianPackages }: Tool): void {
  run('apt-get', ['update']);
  run('apt-get', ['install', '--yes', '--no-install-recommends', ...debianPackages]);
}

/** Unpacks the tool's packages into its cache folder. Needs no root rights, because apt's lists are kept there too. */
function unpack(name: ToolName, { debianPackages }: Tool): void {
  const folder = unpackFolder(name);
  mkdirSync(dirname(folder), { recursive: true });
  const work = mkdtempSync(`${folder}-`);
  try {
    const [lists, packages, root] = [join(work, 'lists'), join(work, 'packages'), join(work, 'root')] as const;
    for (const path of [join(lists, 'partial'), packages, root]) {
      mkdirSync(path, { recursive: true });
    }
    // Without a sandbox user: root's apt would download as another user, who may not write here.
    const options = ['-o', `Dir::State::Lists=${lists}`, '-o', `Dir::Cache=${work}`, '-o', 'APT::Sandbox::User='];
    run('apt-get', [...options, 'update']);
    run('apt-get', [...options, 'download', ...debianPackages], { cwd: packages });
    for (const file of readdirSync(packages)) {
      run('dpkg-deb', ['--extract', join(packages, file), root]);
    }
    // One rename, so that an interrupted run leaves no partial folder.
    rmSync(folder, { recursive: true, force: true });
    renameSync(root, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const isRoot = (): boolean => process.getuid?.() === 0;

function fetchTool(name: ToolName): void {
  const wanted = tool(name);
  if (isRoot() && !wanted.startsService) {
    install(wanted);
  } else {
    unpack(name, wanted);
  }
}

/** Fetches the tool if it is missing. @returns the reason of a failure in one line, or `undefined` */
function ensure(name: ToolName): string | undefined {
  if (findTool(name) !== undefined) return;
  if (!hasApt()) return 'apt is missing';
  if (tool(name).needsInstalling && !isRoot()) return 'only root can install it';
  try {
    console.log(`Fetching ${tool(name).debianPackages.join(', ')} for tests that need ${name}.`);
    fetchTool(name);
  } catch (error) {
    return `apt could not fetch it (${lastLine(error)})`;
  }
  return findTool(name) === undefined ? 'the fetched packages do not contain it' : undefined;
}

function lastLine(error: unknown): string {
  return String(error).trim().split('\n').at(-1) ?? '';
}

/** Whether to fetch the programs of the bench, too. */
const forBench = process.argv[2] === 'bench';

/** Returns one line for each required tool that could not be provided. */
function problems(): string[] {
  const skipped = skippedTools();
  return toolNames
    .filter((name) => !skipped.has(name) && (forBench || tool(name).benchOnly === undefined))
    .flatMap((name) => {
      const problem = ensure(name);
      if (problem === undefined) return [];
      const ways = `${tool(name).installHint}, or leave its tests out with ${SKIP_VARIABLE}=${name}`;
      return [`Tests need ${name}: it is not on the PATH, and ${problem}. Please ${ways}.`];
    });
}

const found = problems();
if (found.length > 0) {
  console.error(found.join('\n'));
  process.exitCode = 1;
}
