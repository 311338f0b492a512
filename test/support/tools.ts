/**
 * The programs that tests need and npm does not bring: which, where they are, and whether their tests are left out.
 * `scripts/ensure-tools.ts` fetches what is missing; a further tool is one more line in the table.
 */
import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';

/** A program, and where it comes from. */
export interface Tool {
  /** Its name on the PATH. */
  readonly command: string;
  /** Debian's packages that have it and what it cannot run without. */
  readonly debianPackages: readonly string[];
  /** Where the packages put it, from their root. */
  readonly unpackedPath: string;
  /** Whether installing the package starts and enables a service: then it is only unpacked, by root too. */
  readonly startsService: boolean;
  /** It finds its libraries only where they are installed: then it is never unpacked, and takes root. */
  readonly needsInstalling?: true;
  /** Needed by `npm run bench` alone, so `npm test` does not fetch it. */
  readonly benchOnly?: true;
  /** How to get it where Debian's packages are not to be had: the end of a sentence. */
  readonly elsewhere: string;
}

const tools = {
  etcd: {
    command: 'etcd',
    debianPackages: ['etcd-server'],
    unpackedPath: 'usr/bin/etcd',
    startsService: true,
    elsewhere: 'install etcd 3.4 or newer (macOS: brew install etcd)',
  },
  dig: {
    command: 'dig',
    debianPackages: ['bind9-dnsutils'],
    unpackedPath: 'usr/bin/dig',
    startsService: false,
    needsInstalling: true,
    elsewhere: 'install dig (macOS has it; elsewhere it is in bind or bind-utils)',
  },
  wrk: {
    command: 'wrk',
    debianPackages: ['wrk'],
    unpackedPath: 'usr/bin/wrk',
    startsService: false,
    benchOnly: true,
    elsewhere: 'install wrk (macOS: brew install wrk)',
  },
} as const satisfies Record<string, Tool>;

/** A tool of the table. */
export type ToolName = keyof typeof tools;

/** Every tool of the table. */
export const toolNames = Object.keys(tools) as readonly ToolName[];

/** Names the tools, separated by commas, whose tests are left out. */
export const SKIP_VARIABLE = 'ACCORD_TEST_SKIP';

/** The line of the table. */
export function tool(name: ToolName): Tool {
  return tools[name];
}

/** Where a tool's packages are unpacked: below XDG_CACHE_HOME, which is ~/.cache unless it is set. */
export function unpackFolder(name: ToolName): string {
  const cache = process.env['XDG_CACHE_HOME'] ?? '';
  return join(isAbsolute(cache) ? cache : join(homedir(), '.cache'), 'accord-tools', name);
}

/** The absolute path of a tool, on the PATH or unpacked; `undefined` when it is in neither place. */
export function findTool(name: ToolName): string | undefined {
  const { command, unpackedPath } = tool(name);
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  return [...folders.map((folder) => join(folder, command)), join(unpackFolder(name), unpackedPath)].find(isExecutable);
}

/** The absolute path of a tool, for a test to start it. Throws when it is missing. */
export function toolPath(name: ToolName): string {
  const path = findTool(name);
  if (path === undefined) {
    throw new Error(`${tool(name).command} is missing: npm test fetches it, as does node scripts/ensure-tools.ts`);
  }
  return path;
}

/** For the `skip` option of a test that needs the tool: `false`, or why the test is left out. */
export function skipWithout(name: ToolName): string | false {
  return skippedTools().has(name) && `${SKIP_VARIABLE} names ${name}`;
}

/** The tools whose tests are left out. Throws on a name that is not in the table, which would skip nothing unnoticed. */
export function skippedTools(): ReadonlySet<ToolName> {
  const names = (process.env[SKIP_VARIABLE] ?? '').split(',').map((name) => name.trim());
  return new Set(names.filter((name) => name !== '').map(checkedName));
}

function checkedName(name: string): ToolName {
  const known = toolNames.find((toolName) => toolName === name);
  if (known === undefined) {
    throw new Error(`${SKIP_VARIABLE} names "${name}": want names of ${toolNames.join(', ')}, separated by commas`);
  }
  return known;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
