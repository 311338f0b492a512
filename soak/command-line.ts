/** What the command line of the soak asks for. Pure. */
import { parseArgs } from 'node:util';
import { FAULT_NAMES, type FaultName } from './faults.ts';

/** A run, a question for the usage, or what cannot be understood of it. */
export type Asked =
  | { readonly kind: 'run'; readonly minutes: number; readonly seed: number; readonly faults: readonly FaultName[] }
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly reason: string };

/** Names with a space in them make the whole list need quotes: it is shown so that it can be copied. */
export const USAGE = `usage: npm run soak -- [--minutes N] [--seed N] [--faults '${FAULT_NAMES.join(',')}']`;

const MINUTES = 10;

/** @param seed what is taken where none is given */
export function parseCommandLine(args: readonly string[], seed: number): Asked {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        minutes: { type: 'string', default: String(MINUTES) },
        seed: { type: 'string', default: String(seed) },
        faults: { type: 'string', default: FAULT_NAMES.join(',') },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    return values.help ? { kind: 'help' } : { kind: 'run', ...checked(values) };
  } catch (error) {
    return { kind: 'wrong', reason: (error as Error).message };
  }
}

interface Given {
  readonly minutes: string;
  readonly seed: string;
  readonly faults: string;
}

/** @throws RangeError */
function checked(given: Given): { minutes: number; seed: number; faults: readonly FaultName[] } {
  const minutes = Number(given.minutes);
  if (!(minutes > 0)) throw new RangeError(`--minutes is '${given.minutes}': want a number above 0`);
  const seed = Number(given.seed);
  if (!Number.isSafeInteger(seed)) throw new RangeError(`--seed is '${given.seed}': want a whole number`);
  const names = given.faults.split(',');
  const unknown = names.find((name) => !FAULT_NAMES.some((known) => known === name));
  if (unknown !== undefined) {
    throw new RangeError(
      `--faults has '${unknown}': want some of ${FAULT_NAMES.join(',')}, with commas alone between them`,
    );
  }
  return { minutes, seed, faults: FAULT_NAMES.filter((name) => names.includes(name)) };
}
