/** A step of the demo, as data: why it matters, what is typed, and what must hold of the answer. */

export interface Step {
  /** One sentence for the reader. */
  readonly why: string;
  /** For the shell, as it is shown; it may have several lines. */
  readonly command: string;
  /** Each matches the answer, which is what the command writes to standard output and standard error. */
  readonly shows?: readonly RegExp[];
  /** None matches it. */
  readonly hides?: readonly RegExp[];
  /** 0 unless given: some commands are right to refuse. */
  readonly exitCode?: number;
  /** What takes a moment to come true: the command is run again until it holds. */
  readonly eventually?: boolean;
  /** A program that runs on; what it writes goes to the log of this name, and is its answer. */
  readonly background?: string;
  /** Variables for the commands that follow, each the first group of a pattern in the answer. */
  readonly finds?: Readonly<Record<string, RegExp>>;
}

export interface Chapter {
  readonly title: string;
  readonly steps: readonly Step[];
}

/** What a command did. */
export interface Outcome {
  /** `undefined`: it runs on, or it was ended by a signal. */
  readonly exitCode: number | undefined;
  readonly answer: string;
}

/** What does not hold of an outcome, in words; empty when all does. */
export function complaintsAbout(step: Step, outcome: Outcome): readonly string[] {
  const { shows = [], hides = [], finds = {} } = step;
  const { answer } = outcome;
  return [
    ...complaintsAboutEnd(step, outcome),
    ...shows.filter((pattern) => !pattern.test(answer)).map((pattern) => `the answer lacks ${pattern}`),
    ...hides.filter((pattern) => pattern.test(answer)).map((pattern) => `the answer has ${pattern}`),
    ...Object.entries(finds)
      .filter(([, pattern]) => pattern.exec(answer)?.[1] === undefined)
      .map(([name, pattern]) => `the answer does not tell ${name}: it lacks ${pattern}`),
  ];
}

function complaintsAboutEnd({ background, exitCode: wanted = 0 }: Step, { exitCode }: Outcome): readonly string[] {
  if (background !== undefined) return exitCode === undefined ? [] : [`it ended with ${exitCode}, and should run on`];
  if (exitCode === undefined) return ['it took too long and was ended'];
  return exitCode === wanted ? [] : [`it ended with ${exitCode}, and should end with ${wanted}`];
}
