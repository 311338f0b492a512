/**
 * Makes sure that the programs which tests need are there, before `npm test` begins: on the PATH, or unpacked in the
 * user's cache folder, or else fetched with apt. Where that cannot be, it says in one line what is missing, and fails.
 *
 * A package that would start and enable a service is unpacked and not installed, whoever runs this: a machine must not
 * come out of a test run with a new daemon.
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

/** Runs a program to its end; throws with what it printed when it fails or is not there. */
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

/** Unpacks the tool's packages into its folder, without any rights: apt keeps its lists in a folder beside it. */
function unpack(name: ToolName, { debianPackages }: Tool): void {
  const folder = unpackFolder(name);
  mkdirSync(dirname(folder), { recursive: true });
  const work = mkdtempSync(`${folder}-`);
  try {
    const [lists, packages, root] = [join(work, 'lists'), join(work, 'packages'), join(work, 'root')] as const;
    for (const path of [join(lists, 'partial'), packages, root]) {
      mkdirSync(path, { recursive: true });
    }
    // An empty sandbox user: root's apt would hand downloads to a user of its own, who may not write here.
    const options = ['-o', `Dir::State::Lists=${lists}`, '-o', `Dir::Cache=${work}`, '-o', 'APT::Sandbox::User='];
    run('apt-get', [...options, 'update']);
    run('apt-get', [...options, 'download', ...debianPackages], { cwd: packages });
    for (const file of readdirSync(packages)) {
      run('dpkg-deb', ['--extract', join(packages, file), root]);
    }
    // In place in one step: a run that is cut leaves nothing that looks whole.
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

/** Fetches the tool when it is missing; answers why that failed, in one line, or `undefined`. */
function ensure(name: ToolName): string | undefined {
  if (findTool(name) !== undefined) return;
  if (!hasApt()) return 'there is no apt to fetch it with';
  if (tool(name).needsInstalling && !isRoot()) return 'only root can install it';
  try {
    console.log(`Fetching ${tool(name).debianPackages.join(', ')} for tests that need ${name}.`);
    fetchTool(name);
  } catch (error) {
    return `apt could not fetch it (${lastLine(error)})`;
  }
  return findTool(name) === undefined ? 'it is not in the packages that apt fetched' : undefined;
}

function lastLine(error: unknown): string {
  return String(error).trim().split('\n').at(-1) ?? '';
}

/** With `bench` as the argument, what the bench needs is fetched as well. */
const forBench = process.argv[2] === 'bench';

/** One line for each tool that is needed and cannot be had. */
function problems(): string[] {
  const skipped = skippedTools();
  return toolNames
    .filter((name) => !skipped.has(name) && (forBench || tool(name).benchOnly === undefined))
    .flatMap((name) => {
      const problem = ensure(name);
      if (problem === undefined) return [];
      const ways = `${tool(name).elsewhere}, or leave its tests out with ${SKIP_VARIABLE}=${name}`;
      return [`Tests need ${name}: it is not on the PATH, and ${problem}. Please ${ways}.`];
    });
}

const found = problems();
if (found.length > 0) {
  console.error(found.join('\n'));
  process.exitCode = 1;
}
