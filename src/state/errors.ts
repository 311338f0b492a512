/** The reasons for which the state rejects or fails. `http/errors.ts` maps each to an HTTP status. See [STATE-54]. */
export type StateErrorCode =
  /** The store cannot be reached or did not answer in time. Nothing was changed. */
  | 'unavailable'
  /** The deadline passed before the store reported whether it made the write. */
  | 'outcome-unknown'
  /** The write queue is full, or the write met too many conflicts. */
  | 'overloaded'
  /** The store has no space left. Reads continue. */
  | 'full'
  /** The write exceeds what the store accepts in one commit. */
  | 'too-large'
  /** The write would exceed `state.rows-max`, or the memory for rows. */
  | 'rows-max'
  /** The write would exceed a row quota, such as that of an organization. */
  | 'quota'
  /** The caller has written too many bytes. */
  | 'rate-limited'
  /** The rows in the store do not fit into the memory of this server. */
  | 'memory-full'
  /** The client disconnected before the write started, or the state is closing. */
  | 'aborted'
  /** Another process holds the database. */
  | 'locked'
  /** The data cannot be read: it is damaged, or a newer version wrote it. */
  | 'corrupt'
  /** Another live server uses the node name. */
  | 'name-taken'
  /** The store already holds a state. */
  | 'not-empty'
  /** A consumer of the change feed was too slow, or the state was reloaded. It restarts from a snapshot. */
  | 'fell-behind';

/** When a retry can succeed after an error that names no time of its own. Space takes an operator to free. */
const RETRY_AFTER_SECONDS: Partial<Readonly<Record<StateErrorCode, number>>> = {
  unavailable: 1,
  'outcome-unknown': 5,
  overloaded: 1,
  full: 30,
  aborted: 1,
};

/** An error of the state. `message` may be shown to a caller; `cause` is for the log. */
export class StateError extends Error {
  override readonly name = 'StateError';
  readonly code: StateErrorCode;
  /** Seconds after which the caller may retry; undefined if a retry is unlikely to help. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: StateErrorCode, message: string, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds ?? RETRY_AFTER_SECONDS[code];
  }
}

/** Whether `error` is a StateError, with one of `codes` if any are given. */
export function isStateError(error: unknown, ...codes: StateErrorCode[]): error is StateError {
  return error instanceof StateError && (codes.length === 0 || codes.includes(error.code));
}
