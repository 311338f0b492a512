/** Something that was seen and cannot be, with all that a reader needs to judge it. */
import { QUOTED_MAX, VIOLATIONS_SHOWN_MAX } from './limits.ts';

export interface Violation {
  /** What was broken, in a few words; violations of one rule have the same. */
  readonly rule: string;
  /** What was asked, such as `GET /v1/partition/p1`. */
  readonly asked: string;
  /** Whom. */
  readonly where: string;
  readonly answered: string;
  /** What the model says. */
  readonly expected: string;
  /** What was done to the same thing before, oldest first. */
  readonly history?: readonly string[];
}

export interface Violations {
  readonly count: number;
  /** Takes one and tells it at once. */
  add(violation: Violation): void;
}

/** A place for violations: the first are told in full, the rest is counted. */
export function createViolations(about: {
  readonly seed: number;
  elapsedMs(): number;
  say(text: string): void;
}): Violations {
  let count = 0;
  return {
    get count() {
      return count;
    },
    add(violation) {
      count += 1;
      if (count > VIOLATIONS_SHOWN_MAX) return;
      about.say(violationText(violation, { seed: about.seed, atMs: about.elapsedMs() }));
    },
  };
}

/** The report of a violation, several lines. */
function violationText(violation: Violation, { seed, atMs }: { seed: number; atMs: number }): string {
  const { rule, asked, where, answered, expected, history = [] } = violation;
  return [
    `VIOLATION: ${rule}`,
    `  asked     ${asked}`,
    `  where     ${where}`,
    `  answered  ${quoted(answered)}`,
    `  expected  ${expected}`,
    `  when      ${(atMs / 1000).toFixed(1)} s after the start, seed ${seed}`,
    ...(history.length === 0 ? [] : ['  before', ...history.map((line) => `    ${line}`)]),
  ].join('\n');
}

const quoted = (text: string): string => (text.length > QUOTED_MAX ? `${text.slice(0, QUOTED_MAX)}…` : text);
