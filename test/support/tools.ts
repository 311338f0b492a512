/**
 * The programs that tests need and npm does not install: where they are, and whether their tests are skipped.
 * `scripts/ensure-tools.ts` installs missing programs.
 */
import { accessSync, constants } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';

/** A program and its origin. */
export interface Tool {
  /** The name of the executable on the PATH. */
  readonly command: string;
  /** The Debian packages that contain the program and its dependencies. */
  readonly debianPackages: readonly string[];
  /** The path of the executable in the packages. */
  readonly unpackedPath: string;
  /** Whether installation starts a service. If so, root unpacks the package, too, instead of installing it. */
  readonly startsService: boolean;
  /** Whether it must be installed, by root, because it does not find its libraries when it is only unpacked. */
  readonly needsInstalling?: true;
  /** Whether only `npm run bench` needs it. `npm test` does not install it then. */
  readonly benchOnly?: true;
  /** How to install the tool on systems other than Debian. The error message ends with this text. */
  readonly installHint: string;
}

const tools = {
  etcd: {
    command: 'etcd',
    debianPackages: ['etcd-server'],
    unpackedPath: 'usr/bin/etcd',
    startsService: true,
    installHint: 'install etcd 3.4 or newer (macOS: brew install etcd)',
  },
  dig: {
    command: 'dig',
    debianPackages: ['bind9-dnsutils'],
    unpackedPath: 'usr/bin/dig',
    startsService: false,
    needsInstalling: true,
    installHint: 'install dig (macOS has it; elsewhere it is in bind or bind-utils)',
  },
  wrk: {
    command: 'wrk',
    debianPackages: ['wrk'],
    unpackedPath: 'usr/bin/wrk',
    startsService: false,
    benchOnly: true,
    installHint: 'install wrk (macOS: brew install wrk)',
  },
} as const satisfies Record<string, Tool>;

/** The name of a tool in the table. */
export type ToolName = keyof typeof tools;

export const toolNames = Object.keys(tools) as readonly ToolName[];

/** The variable with the names of the tools whose tests are skipped, separated by commas. */
export const SKIP_VARIABLE = 'ACCORD_TEST_SKIP';

export function tool(name: ToolName): Tool {
  return tools[name];
}

/** Returns the folder for a tool's unpacked packages, below `XDG_CACHE_HOME` or `~/.cache`. */
export function unpackFolder(name: ToolName): string {
  const cache = process.env['XDG_CACHE_HOME'] ?? '';
  return join(isAbsolute(cache) ? cache : join(homedir(), '.cache'), 'accord-tools', name);
}

/** Returns the absolute path of a tool, on the PATH or unpacked. `undefined` if the tool is missing. */
export function findTool(name: ToolName): string | undefined {
  const { command, unpackedPath } = tool(name);
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  return [...folders.map((folder) => join(folder, command)), join(unpackFolder(name), unpackedPath)].find(isExecutable);
}

/** Returns the absolute path of a tool. @throws Error if the tool is missing */
export function toolPath(name: ToolName): string {
  const path = findTool(name);
  if (path === undefined) {
    throw new Error(`${tool(name).command} is missing: npm test fetches it, as does node scripts/ensure-tools.ts`);
  }
  return path;
}

/** Returns the `skip` option of a test that needs the tool: `false`, or the reason to skip the test. */
export function skipWithout(name: ToolName): string | false {
  return skippedTools().has(name) && `${SKIP_VARIABLE} names ${name}`;
}

/** Returns the tools whose tests are skipped. @throws Error on an unknown name, which would not skip any test */
export function skippedTools(): ReadonlySet<ToolName> {
  const names = (process.env[SKIP_VARIABLE] ?? '').split(',').map((name) => name.trim());
  return new Set(names.filter((name) => name !== '').map(parseToolName));
}

function parseToolName(name: string): ToolName {
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
