import { median } from './figures.ts';

const ROUNDS = 3;

/** Requests a second of each load, in turns so that all meet the same noise; the median of each. */
export async function measureRatesInterleaved(loads: readonly (() => Promise<number>)[]): Promise<number[]> {
  const rates: number[][] = loads.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, run] of loads.entries()) rates[i]?.push(await run());
  }
  return rates.map(median);
}
