/** Why a request was refused or failed: one error type with a closed set of codes, and the one table of HTTP statuses. */
import { isStateError, type StateErrorCode } from '../state/errors.ts';

const STATUSES = {
  /** The body, a parameter, a header or a name is not as it must be. */
  'bad-request': 400,
  /** The caller lacks a grant, its token is unknown or expired, or its browser comes from a foreign page. */
  'permission-denied': 403,
  /** There is no such thing, or the path leads nowhere. */
  'not-found': 404,
  /** The path exists, with other methods: `Allow` names them. */
  'method-not-allowed': 405,
  /** The request did not arrive in time. */
  'request-timeout': 408,
  /** The request contradicts what is there. */
  conflict: 409,
  /** A condition that the caller set does not hold. */
  'precondition-failed': 412,
  /** The body, or one write, is larger than a limit, which the message names. */
  'too-large': 413,
  /** The headers are larger than their limit. */
  'headers-too-large': 431,
  /** The caller has reached a limit, which the message names. */
  'rate-limited': 429,
  /** Our own fault; the cause is in the log under the request's id. */
  internal: 500,
  /** The store, or the other cluster, cannot be reached; nothing was changed. */
  unavailable: 503,
  /** The store did not say in time whether the change was made: read before trying again. */
  'outcome-unknown': 503,
  /** More waits than can be done soon. */
  overloaded: 503,
  /** The store has no room left; reads go on. */
  'store-full': 503,
  /** `state.rows-max` is reached. */
  'rows-full': 507,
} as const;

export type ServiceErrorCode = keyof typeof STATUSES;

/** Every code, for tests and documents that must name them all. */
export const serviceErrorCodes = Object.keys(STATUSES) as readonly ServiceErrorCode[];

/** The HTTP status of a code. */
export const statusOf = (code: ServiceErrorCode): number => STATUSES[code];

/** What the state's own errors are to a caller. What a request cannot bring about is our fault. */
const OF_STATE: Readonly<Record<StateErrorCode, ServiceErrorCode>> = {
  unavailable: 'unavailable',
  'outcome-unknown': 'outcome-unknown',
  overloaded: 'overloaded',
  full: 'store-full',
  'too-large': 'too-large',
  'rows-max': 'rows-full',
  aborted: 'unavailable',
  locked: 'internal',
  corrupt: 'internal',
  'name-taken': 'internal',
  'not-empty': 'internal',
  'fell-behind': 'internal',
};

export interface ServiceErrorOptions {
  /** For the log, never for the caller. */
  readonly cause?: unknown;
  readonly retryAfterSeconds?: number | undefined;
  /** Further headers of the answer, flat: name, value, name, value. */
  readonly headers?: readonly string[];
}

/** Refuses a request. `message` is what the caller reads, on any wire; for `internal` it is kept from the caller. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ServiceErrorCode;
  readonly retryAfterSeconds: number | undefined;
  readonly headers: readonly string[];

  constructor(code: ServiceErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers ?? [];
  }

  get status(): number {
    return STATUSES[this.code];
  }
}

/** What anything thrown is to a caller: itself, the state's error translated, or `internal` with it as the cause. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (isStateError(error)) {
    const { message, retryAfterSeconds } = error;
    return new ServiceError(OF_STATE[error.code], message, { cause: error, retryAfterSeconds });
  }
  return new ServiceError('internal', 'internal error', { cause: error });
}
