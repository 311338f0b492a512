/**
 * The limit of V8's heap. V8 limits the old generation, in which the rows are, and the young generation separately, and
 * reports only the sum. It also knows little of containers: in one of 256 MiB it allows a heap of 262 MiB.
 */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import {
  NATIVE_BYTES,
  NATIVE_SHARE,
  OLD_GENERATION_SHARE,
  SEMI_SPACE_BYTES_MAX,
  SEMI_SPACE_SHARE,
  YOUNG_SEMI_SPACES,
} from './limits.ts';

const MEBIBYTE = 2 ** 20;

/** The options of a process that V8 reads: `NODE_OPTIONS`, and those of its command line, which win. */
const optionsOfProcess = (): readonly string[] => [
  // biome-ignore lint/style/noProcessEnv: the variable belongs to Node.js; it is no setting of the server.
  ...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/),
  ...process.execArgv,
];

/** Returns the memory of the container, or of the machine if it has less. */
function memoryOfMachine(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

export interface HeapLimitInputs {
  /** V8's limit of both generations. */
  readonly heapSizeLimit: number;
  readonly options: readonly string[];
  readonly memoryBytes: number;
}

/** Returns how far the old generation may grow before V8 ends the process, or the system kills it. */
export function oldGenerationBytes({ heapSizeLimit, options, memoryBytes }: HeapLimitInputs): number {
  const semiSpace = mebibyteOption(options, 'max-semi-space-size') ?? SEMI_SPACE_BYTES_MAX;
  const youngGeneration = YOUNG_SEMI_SPACES * Math.min(semiSpace, SEMI_SPACE_BYTES_MAX);
  // Without an option, V8 sizes the young generation by the limit.
  const isChosen = options.some((option) => OLD_SPACE_OPTION.test(option));
  const allowed = isChosen ? heapSizeLimit - youngGeneration : heapSizeLimit * OLD_GENERATION_SHARE;
  const fitting = heapBytesThatFit(memoryBytes) - Math.min(youngGeneration, heapSizeLimit - allowed);
  return Math.floor(Math.min(allowed, fitting));
}

/**
 * Returns the options with which V8 stays within the memory of a small machine or container, or `undefined` if it does
 * so anyway. An option that the operator chose is kept.
 */
export function missingHeapOptions(inputs: HeapLimitInputs): readonly string[] | undefined {
  const { heapSizeLimit, options, memoryBytes } = inputs;
  const fitting = heapBytesThatFit(memoryBytes);
  if (heapSizeLimit <= fitting) return undefined;
  const semiSpace = semiSpaceBytes(memoryBytes);
  const old = Math.max(1, Math.floor((fitting - YOUNG_SEMI_SPACES * semiSpace) / MEBIBYTE));
  const missing: string[] = [];
  if (!options.some((option) => HEAP_OPTION.test(option))) missing.push(`--max-old-space-size=${old}`);
  if (!options.some((option) => SEMI_SPACE_OPTION.test(option))) {
    missing.push(`--max-semi-space-size=${semiSpace / MEBIBYTE}`);
  }
  return missing.length === 0 ? undefined : missing;
}

export const processHeapLimit = (): HeapLimitInputs => ({
  heapSizeLimit: getHeapStatistics().heap_size_limit,
  options: optionsOfProcess(),
  memoryBytes: memoryOfMachine(),
});

/**
 * Starts the program again, in the same process, if V8 would exceed the memory of the machine or container. V8 reads
 * these options only when it starts. Returns if the options are right, or if the system cannot replace a program.
 */
export function fitHeapToMachine(): void {
  const missing = missingHeapOptions(processHeapLimit());
  if (missing === undefined || process.execve === undefined) return;
  const options = [...process.execArgv, ...missing];
  // biome-ignore lint/style/noProcessEnv: the program starts again with the environment that it has.
  process.execve(process.execPath, [process.execPath, ...options, ...process.argv.slice(1)], process.env);
}

/** Returns the part of the memory that is not for code, threads, buffers, and SQLite. */
const heapBytesThatFit = (memoryBytes: number): number => memoryBytes * (1 - NATIVE_SHARE) - NATIVE_BYTES;

/** Returns the size of a half of the young generation: a power of two, in whole MiB. */
const semiSpaceBytes = (memoryBytes: number): number =>
  Math.min(SEMI_SPACE_BYTES_MAX, Math.max(MEBIBYTE, 2 ** Math.floor(Math.log2(memoryBytes * SEMI_SPACE_SHARE))));

const OLD_SPACE_OPTION = /^--max[-_]old[-_]space[-_]size(?:[-_]percentage)?=/;
const HEAP_OPTION = /^--max[-_](?:old[-_]space[-_]size(?:[-_]percentage)?|heap[-_]size)(?:=|$)/;
const SEMI_SPACE_OPTION = /^--max[-_]semi[-_]space[-_]size(?:=|$)/;

/** Returns the bytes of the last option of this name, in MiB; `undefined` without such an option. */
function mebibyteOption(options: readonly string[], name: string): number | undefined {
  const spelled = new RegExp(`^--${name.replaceAll('-', '[-_]')}=(\\d+)$`);
  for (const option of options.toReversed()) {
    const size = option.match(spelled)?.[1];
    if (size !== undefined) return Number(size) * MEBIBYTE;
  }
  return undefined;
}
