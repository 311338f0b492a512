/** Durations in Go's syntax, which Consul clients send: `10s`, `1m30s`, `1.5h`. */

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

/** Longer texts are rejected unparsed, because no useful duration needs as many characters. */
const LENGTH_MAX = 64;

/** Returns the duration in milliseconds, or `undefined` if `text` is not a duration of 0 or more. */
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
