/**
 * The limits of response bodies. They are global because the process has one heap: a server with a small heap lowers
 * them at its start [SRV-30].
 */
import { ANSWER_CHARACTERS_MAX, PRETTY_CHARACTERS_MAX, UNSENT_BYTES_MAX } from './limits.ts';

export interface AnswerLimits {
  /** Maximum characters in a body. */
  readonly charactersMax: number;
  /** Maximum characters in a body that `pretty` indents. */
  readonly prettyCharactersMax: number;
  /** Maximum bytes of different bodies that clients have not received yet. */
  readonly unsentBytesMax: number;
}

/** The limits of a process with a heap of the default size. */
export const ANSWER_LIMITS: AnswerLimits = {
  charactersMax: ANSWER_CHARACTERS_MAX,
  prettyCharactersMax: PRETTY_CHARACTERS_MAX,
  unsentBytesMax: UNSENT_BYTES_MAX,
};

let current = ANSWER_LIMITS;

export const answerLimits = (): AnswerLimits => current;

export function setAnswerLimits(limits: AnswerLimits): void {
  current = limits;
}
