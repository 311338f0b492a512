/** The command line of `npm run soak`. Pure. */
import { parseArgs } from 'node:util';
import { FAULT_NAMES, type FaultName } from './faults.ts';

/** A parsed command line: a run, a request for help, or a usage error. */
export type Command =
  | { readonly kind: 'run'; readonly minutes: number; readonly seed: number; readonly faults: readonly FaultName[] }
  | { readonly kind: 'help' }
  | { readonly kind: 'error'; readonly message: string };

/** The usage line. It quotes the fault names for the shell, because some contain a space. */
export const USAGE = `usage: npm run soak -- [--minutes N] [--seed N] [--faults '${FAULT_NAMES.join(',')}']`;

const MINUTES_DEFAULT = 10;

/** Parses the arguments. `defaultSeed` applies without `--seed`. */
export function parseCommandLine(args: readonly string[], defaultSeed: number): Command {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        minutes: { type: 'string', default: String(MINUTES_DEFAULT) },
        seed: { type: 'string', default: String(defaultSeed) },
        faults: { type: 'string', default: FAULT_NAMES.join(',') },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    return values.help ? { kind: 'help' } : { kind: 'run', ...parseValues(values) };
  } catch (error) {
    return { kind: 'error', message: (error as Error).message };
  }
}

interface OptionValues {
  readonly minutes: string;
  readonly seed: string;
  readonly faults: string;
}

/** @throws RangeError for an invalid value */
function parseValues(values: OptionValues): { minutes: number; seed: number; faults: readonly FaultName[] } {
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new RangeError(`--minutes is '${values.minutes}': want a number above 0`);
  const seed = Number(values.seed);
  if (!Number.isSafeInteger(seed)) throw new RangeError(`--seed is '${values.seed}': want an integer`);
  const names = values.faults.split(',');
  const unknown = names.find((name) => !FAULT_NAMES.some((known) => known === name));
  if (unknown !== undefined) {
    throw new RangeError(
      `--faults contains '${unknown}': want names from ${FAULT_NAMES.join(',')}, separated by commas without spaces`,
    );
  }
  return { minutes, seed, faults: FAULT_NAMES.filter((name) => names.includes(name)) };
}
