import { median } from './figures.ts';

const ROUNDS = 3;

/**
 * Measures the loads in alternating rounds, so that noise affects all of them.
 * @returns the median rate of each, in requests per second
 */
export async function measureRatesInterleaved(loads: readonly (() => Promise<number>)[]): Promise<number[]> {
  const rates: number[][] = loads.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, run] of loads.entries()) rates[i]?.push(await run());
  }
  return rates.map(median);
}
