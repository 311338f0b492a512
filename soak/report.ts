/** What a run came to, as text for people. */
import { FAULT_NAMES, FAULTS, type FaultName } from './faults.ts';
import { GROWTH_MAX, LONG_LIFE_GROWTH_MAX } from './limits.ts';
import { type Growth, growthOf, type Memory, withClusters } from './memory.ts';
import type { Count } from './tally.ts';

export interface Report {
  readonly seed: number;
  readonly tookMs: number;
  readonly counts: readonly Count[];
  readonly faults: ReadonlyMap<FaultName, number>;
  readonly violations: number;
  /** After warm-up, in the middle, in the end. */
  readonly memory: readonly Memory[];
  /** How often a server was started again, by name. */
  readonly restarts: ReadonlyMap<string, number>;
}

/** Whether the run is a success: no violation. Memory is judged by itself, see `tooMuchMemory`. */
export const isClean = ({ violations }: Report): boolean => violations === 0;

/** Those that hold too much in the end. */
export const tooMuchMemory = ({ memory }: Report): readonly Growth[] =>
  growths(memory).filter(({ tooMuch }) => tooMuch);

function growths(memory: readonly Memory[]): readonly Growth[] {
  const [first] = memory;
  const last = memory.at(-1);
  return first === undefined || last === undefined || memory.length < 2 ? [] : growthOf(first, last);
}

/** The tables of a run. */
export function reportText(report: Report): string {
  const { seed, tookMs, violations } = report;
  return [
    `soak of ${(tookMs / 60_000).toFixed(1)} minutes, seed ${seed}`,
    '',
    table(
      ['requests', 'done', 'refused', 'unavailable', 'unknown', 'in calm', 'p50 ms', 'p99 ms'],
      requestRows(report),
    ),
    '',
    table(['faults', 'times'], faultRows(report)),
    '',
    ...memoryLines(report),
    `violations: ${violations}`,
  ].join('\n');
}

function requestRows({ counts }: Report): string[][] {
  const rows = counts.map(({ label, outcomes, calmFailures, calm }) => {
    const { done, refused, unavailable, unknown } = outcomes;
    const numbers = [done, refused, unavailable, unknown, calmFailures];
    return [label, ...numbers.map(String), ...quantiles(label, calm)];
  });
  const sum = (of: (count: Count) => number): string => `${counts.reduce((total, count) => total + of(count), 0)}`;
  const outcomes = (['done', 'refused', 'unavailable', 'unknown'] as const).map((outcome) =>
    sum((count) => count.outcomes[outcome]),
  );
  return [...rows, ['all', ...outcomes, sum(({ calmFailures }) => calmFailures), '', '']];
}

/** Of requests that wait for a change, the time says when it came. */
function quantiles(label: string, { quantile }: Count['calm']): string[] {
  if (label.endsWith(' await')) return ['-', '-'];
  return [0.5, 0.99].map((share) => quantile(share)?.toFixed(1) ?? '-');
}

const faultRows = ({ faults }: Report): string[][] =>
  FAULT_NAMES.map((name) => [FAULTS[name].what, `${faults.get(name) ?? 0}`]);

function memoryLines({ memory, restarts }: Report): string[] {
  if (memory.length < 2) return [];
  const growth = growths(memory);
  const rows = growth.map(({ name, share, judged, tooMuch }) => [
    name,
    ...memory.map((each) => mib(withClusters(each).get(name))),
    `${share >= 0 ? '+' : ''}${(share * 100).toFixed(0)} %`,
    judged ? (tooMuch ? 'GROWS' : 'flat') : '',
    `${restarts.get(name) ?? ''}`,
  ]);
  const times = ['after warm-up', 'middle'].slice(0, memory.length - 1);
  return [
    table(['resident MiB', ...times, 'end', 'growth', 'judged', 'restarts'], rows),
    `flat: in the end the servers of a cluster hold at most ${GROWTH_MAX * 100} % more than after warm-up, when nobody writes; a1 by itself ${LONG_LIFE_GROWTH_MAX * 100} %.`,
    '',
  ];
}

const mib = (bytes: number | undefined): string => (bytes === undefined ? '-' : (bytes / 1024 / 1024).toFixed(0));

/** Columns that are as wide as they must be: text on the left, numbers on the right. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  return all
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** One line while it runs. */
export function progress(elapsedMs: number, violations: number, counts: readonly Count[]): string {
  const requests = counts.reduce((sum, { outcomes }) => sum + Object.values(outcomes).reduce((a, b) => a + b), 0);
  return `${(elapsedMs / 1000).toFixed(0)} s: ${requests} requests, ${violations} violations`;
}
