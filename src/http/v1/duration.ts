/** Durations as Go writes them, which is what clients of such services send: `10s`, `1m30s`, `1.5h`. */

const UNITS_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

const PART = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gy;

/** Longest text looked at; longer ones are no durations that anybody means. */
const LENGTH_MAX = 64;

/** The milliseconds of a duration that is not negative; `undefined` when `text` is none. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (text === '' || text.length > LENGTH_MAX) return undefined;
  let totalMs = 0;
  let end = 0;
  for (const [part, number = '', unit = ''] of text.matchAll(PART)) {
    totalMs += Number(number) * (UNITS_MS[unit] ?? Number.NaN);
    end += part.length;
  }
  return end === text.length ? totalMs : undefined;
}
