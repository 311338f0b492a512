/** The bounds of the demo; times in milliseconds. */

/** A command that takes longer hangs: the longest waits for a stream, which takes a second, or many on a busy machine. */
export const COMMAND_MS_MAX = 60_000;

/**
 * How long something may take to come true: the slowest is a check whose time to live of 2 seconds runs out, or a server
 * that starts on a busy machine.
 */
export const EVENTUALLY_MS_MAX = 60_000;

/** Between two looks at something that takes a moment: short beside what a person notices. */
export const LOOK_AGAIN_MS = 100;

/** A server finishes what is under way in at most 10 seconds (`shutdown.grace`); nothing is under way here. */
export const STOP_MS_MAX = 5_000;

/** What of an answer is shown: a step fits on a screen together with the one before. */
export const ANSWER_LINES_MAX = 14;
export const ANSWER_COLUMNS_MAX = 116;

/** What of an answer is kept: more is a mistake of the demo. */
export const ANSWER_BYTES_MAX = 2 ** 20;
