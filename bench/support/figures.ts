/** Measured figures with their targets, formatted for output. */

export interface Figure {
  readonly name: string;
  readonly measured: string;
  /** Absent if the figure is for information only. */
  readonly target?: string;
  readonly isMet?: boolean;
}

/** Receives the figures of one part of a section as soon as they are measured. */
export type ReportFigures = (title: string, figures: readonly Figure[]) => void;

/** Returns a figure whose target is a minimum. */
export function atLeast(name: string, measured: number, wanted: number, unit: string): Figure {
  return {
    name,
    measured: formatMeasurement(measured, unit),
    target: `≥ ${formatMeasurement(wanted, unit)}`,
    isMet: measured >= wanted,
  };
}

/** Returns a figure whose target is a maximum. */
export function atMost(name: string, measured: number, wanted: number, unit: string): Figure {
  return {
    name,
    measured: formatMeasurement(measured, unit),
    target: `≤ ${formatMeasurement(wanted, unit)}`,
    isMet: measured <= wanted,
  };
}

/** Returns a figure without a target. */
export function information(name: string, measured: number, unit: string): Figure {
  return { name, measured: formatMeasurement(measured, unit) };
}

/** Prints figures to standard output. */
export function printFigures(title: string, figures: readonly Figure[]): void {
  process.stdout.write(`\n${title}\n`);
  const width = Math.max(...figures.map(({ name }) => name.length));
  for (const { name, measured, target: wanted, isMet: reached } of figures) {
    const verdict = wanted === undefined ? '' : `${wanted.padEnd(14)} ${reached ? 'met' : 'MISSED'}`;
    process.stdout.write(`  ${name.padEnd(width)}  ${measured.padStart(14)}  ${verdict}\n`);
  }
}

/** Returns the median of an odd number of values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Returns the value that `share` (0 to 1) of the values lie below. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function formatMeasurement(value: number, unit: string): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toLocaleString('en', { maximumFractionDigits: digits })} ${unit}`.trim();
}
