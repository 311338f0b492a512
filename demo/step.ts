/** A step of the demo as data: its title, its command, and the expected output. */

export interface Step {
  /** One or two sentences for the reader. */
  readonly title: string;
  /** The shell command as printed. May have several lines. */
  readonly command: string;
  /** Patterns that must match standard output and standard error. */
  readonly matches?: readonly RegExp[];
  /** Patterns that must not match. */
  readonly excludes?: readonly RegExp[];
  /** The expected exit code; 0 by default. */
  readonly exitCode?: number;
  /** Whether to run the command again until its output matches. */
  readonly retry?: boolean;
  /** Name of the log file of a program that keeps running. Its log is the output. */
  readonly background?: string;
  /** Variables for later commands, each the first group of a pattern in the output. */
  readonly captures?: Readonly<Record<string, RegExp>>;
}

export interface Chapter {
  readonly title: string;
  readonly steps: readonly Step[];
}

/** The result of a command. */
export interface Outcome {
  /** `undefined` if the program is running or was ended by a signal. */
  readonly exitCode: number | undefined;
  readonly output: string;
}

/** Returns the unmet expectations of a step, one line each. */
export function failuresOf(step: Step, outcome: Outcome): readonly string[] {
  const { matches = [], excludes = [], captures = {} } = step;
  const { output } = outcome;
  return [
    ...exitFailures(step, outcome),
    ...matches.filter((pattern) => !pattern.test(output)).map((pattern) => `the output does not match ${pattern}`),
    ...excludes.filter((pattern) => pattern.test(output)).map((pattern) => `the output matches ${pattern}`),
    ...Object.entries(captures)
      .filter(([, pattern]) => pattern.exec(output)?.[1] === undefined)
      .map(([name, pattern]) => `the output has no ${name}: it does not match ${pattern}`),
  ];
}

function exitFailures({ background, exitCode: wanted = 0 }: Step, { exitCode }: Outcome): readonly string[] {
  if (background !== undefined)
    return exitCode === undefined ? [] : [`exited with ${exitCode}, expected to keep running`];
  if (exitCode === undefined) return ['timed out'];
  return exitCode === wanted ? [] : [`exited with ${exitCode}, expected ${wanted}`];
}
