/** Why the state refused or failed; a closed set, mapped to HTTP statuses in one table in `http/errors.ts`. */
export type StateErrorCode =
  /** The store cannot be reached or did not answer in time; nothing was changed. */
  | 'unavailable'
  /** The caller's deadline passed while the store had not said whether the write was made. */
  | 'outcome-unknown'
  /** Too many writes wait already; try again later. */
  | 'overloaded'
  /** The store has no room left; reads go on. */
  | 'full'
  /** One write is larger than the store takes in one commit. */
  | 'too-large'
  /** `state.rows-max` is reached. */
  | 'rows-max'
  /** The caller left or the state is closing before the write started. */
  | 'aborted'
  /** Another process holds the database. */
  | 'locked'
  /** The data cannot be read: damaged, or written by a newer version. */
  | 'corrupt'
  /** The node's name is held by another live server. */
  | 'name-taken'
  /** The store already holds a state. */
  | 'not-empty'
  /** A consumer of the change feed was too slow and must start again from a snapshot. */
  | 'fell-behind';

/** An error of the state. `message` may be shown to a caller; `cause` is for the log. */
export class StateError extends Error {
  override readonly name = 'StateError';
  readonly code: StateErrorCode;
  /** Seconds after which a retry makes sense, where it does. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: StateErrorCode, message: string, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Whether `error` is a StateError (with one of `codes`, when given). */
export function isStateError(error: unknown, ...codes: StateErrorCode[]): error is StateError {
  return error instanceof StateError && (codes.length === 0 || codes.includes(error.code));
}
