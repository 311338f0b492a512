/** The report of a run as text. */
import { FAULT_NAMES, FAULTS, type FaultName } from './faults.ts';
import { GROWTH_MAX, LONG_LIFE_GROWTH_MAX } from './limits.ts';
import { type Growth, growthOf, type Memory, withClusters } from './memory.ts';
import type { RequestStat } from './request-stats.ts';

export interface Report {
  readonly seed: number;
  readonly durationMs: number;
  readonly requests: readonly RequestStat[];
  readonly faults: ReadonlyMap<FaultName, number>;
  readonly violations: number;
  /** Measured after warm-up, in the middle, and at the end. Empty in a run of rounds. */
  readonly memory: readonly Memory[];
  /** Restarts by server. */
  readonly restarts: ReadonlyMap<string, number>;
}

/** Whether the run had no violation. Memory is checked separately, by `excessiveGrowth`. */
export const isClean = ({ violations }: Report): boolean => violations === 0;

/** Returns the processes and clusters whose growth exceeds their limit. */
export const excessiveGrowth = ({ memory }: Report): readonly Growth[] =>
  growths(memory).filter(({ exceedsLimit }) => exceedsLimit);

function growths(memory: readonly Memory[]): readonly Growth[] {
  const [first] = memory;
  const last = memory.at(-1);
  return first === undefined || last === undefined || memory.length < 2 ? [] : growthOf(first, last);
}

export function reportText(report: Report): string {
  const { seed, durationMs, violations } = report;
  return [
    `soak of ${(durationMs / 60_000).toFixed(1)} minutes, seed ${seed}`,
    '',
    table(
      ['requests', 'done', 'rejected', 'unavailable', 'unknown', 'calm failures', 'p50 ms', 'p99 ms'],
      requestRows(report),
    ),
    '',
    table(['faults', 'count'], faultRows(report)),
    '',
    ...memoryLines(report),
    `violations: ${violations}`,
  ].join('\n');
}

function requestRows({ requests }: Report): string[][] {
  const rows = requests.map(({ label, outcomes, calmFailures, calmLatencies }) => {
    const { done, rejected, unavailable, unknown } = outcomes;
    const numbers = [done, rejected, unavailable, unknown, calmFailures];
    return [label, ...numbers.map(String), ...quantiles(label, calmLatencies)];
  });
  const sum = (of: (row: RequestStat) => number): string => `${requests.reduce((total, row) => total + of(row), 0)}`;
  const outcomes = (['done', 'rejected', 'unavailable', 'unknown'] as const).map((outcome) =>
    sum((row) => row.outcomes[outcome]),
  );
  return [...rows, ['all', ...outcomes, sum(({ calmFailures }) => calmFailures), '', '']];
}

/** Omits blocking queries, whose duration depends on the change. */
function quantiles(label: string, { quantile }: RequestStat['calmLatencies']): string[] {
  if (label.endsWith(' wait')) return ['-', '-'];
  return [0.5, 0.99].map((share) => quantile(share)?.toFixed(1) ?? '-');
}

const faultRows = ({ faults }: Report): string[][] =>
  FAULT_NAMES.map((name) => [FAULTS[name].description, `${faults.get(name) ?? 0}`]);

function memoryLines({ memory, restarts }: Report): string[] {
  if (memory.length < 2) return [];
  const rows = growths(memory).map(({ name, share, hasLimit, exceedsLimit }) => [
    name,
    ...memory.map((each) => mebibytes(withClusters(each).get(name))),
    `${share >= 0 ? '+' : ''}${(share * 100).toFixed(0)} %`,
    hasLimit ? (exceedsLimit ? 'GROWS' : 'flat') : '',
    `${restarts.get(name) ?? ''}`,
  ]);
  const times = ['after warm-up', 'middle'].slice(0, memory.length - 1);
  return [
    table(['resident MiB', ...times, 'end', 'growth', 'result', 'restarts'], rows),
    `flat: growth from warm-up to the end of at most ${GROWTH_MAX * 100} % per cluster, and ${LONG_LIFE_GROWTH_MAX * 100} % for a1.`,
    '',
  ];
}

const mebibytes = (bytes: number | undefined): string => (bytes === undefined ? '-' : (bytes / 1024 / 1024).toFixed(0));

/** Aligns the first column to the left and the others to the right. */
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

/** Returns the progress line that is printed after each fault. */
export function progressText(elapsedMs: number, violations: number, rows: readonly RequestStat[]): string {
  const requests = rows.reduce((sum, { outcomes }) => sum + Object.values(outcomes).reduce((a, b) => a + b), 0);
  return `${(elapsedMs / 1000).toFixed(0)} s: ${requests} requests, ${violations} violations`;
}
