/** Prints violations: observations that the model or a rule does not allow. */
import { QUOTED_CHARACTERS_MAX, VIOLATIONS_PRINTED_MAX } from './limits.ts';

export interface Violation {
  /** The broken rule. Violations of one rule have the same text. */
  readonly rule: string;
  /** Such as `GET /v1/partition/p1`. */
  readonly request: string;
  readonly server: string;
  readonly response: string;
  readonly expected: string;
  /** The recent requests about the same resource, oldest first. */
  readonly history?: readonly string[];
}

export interface ViolationLog {
  readonly count: number;
  /** Counts a violation, and prints it if it is among the first VIOLATIONS_PRINTED_MAX. */
  add(violation: Violation): void;
}

export function createViolationLog(options: {
  readonly seed: number;
  elapsedMs(): number;
  print(text: string): void;
}): ViolationLog {
  let count = 0;
  return {
    get count() {
      return count;
    },
    add(violation) {
      count += 1;
      if (count > VIOLATIONS_PRINTED_MAX) return;
      options.print(violationText(violation, { seed: options.seed, atMs: options.elapsedMs() }));
    },
  };
}

function violationText(violation: Violation, { seed, atMs }: { seed: number; atMs: number }): string {
  const { rule, request, server, response, expected, history = [] } = violation;
  return [
    `VIOLATION: ${rule}`,
    `  request   ${request}`,
    `  server    ${server}`,
    `  response  ${quote(response)}`,
    `  expected  ${expected}`,
    `  time      ${(atMs / 1000).toFixed(1)} s after the start, seed ${seed}`,
    ...(history.length === 0 ? [] : ['  history', ...history.map((line) => `    ${line}`)]),
  ].join('\n');
}

const quote = (text: string): string =>
  text.length > QUOTED_CHARACTERS_MAX ? `${text.slice(0, QUOTED_CHARACTERS_MAX)}…` : text;
