/** Why a request was refused or failed: one error type with a closed set of codes, and the one table of HTTP statuses. */
import { isStateError, type StateErrorCode } from '../state/errors.ts';

const ERRORS = {
  'bad-request': { status: 400, meaning: 'The body, a parameter, a header or a name is not as it must be' },
  'permission-denied': {
    status: 403,
    meaning: 'The caller lacks a grant, its token is unknown or expired, or its browser comes from a foreign page',
  },
  'not-found': { status: 404, meaning: 'There is no such thing, or the path leads nowhere' },
  'method-not-allowed': { status: 405, meaning: 'The path exists, with other methods: `Allow` names them' },
  'request-timeout': { status: 408, meaning: 'The request did not arrive in time' },
  conflict: { status: 409, meaning: 'The request contradicts what is there' },
  'precondition-failed': { status: 412, meaning: 'A condition that the caller set does not hold' },
  'too-large': { status: 413, meaning: 'The body, or one write, is larger than a limit, which the message names' },
  'headers-too-large': { status: 431, meaning: 'The headers are larger than their limit' },
  'rate-limited': { status: 429, meaning: 'The caller has reached a limit, which the message names' },
  internal: { status: 500, meaning: "Our own fault; the cause is in the log under the request's id" },
  unavailable: { status: 503, meaning: 'The store, or the other cluster, cannot be reached; nothing was changed' },
  'outcome-unknown': {
    status: 503,
    meaning: 'The store did not say in time whether the change was made: read before trying again',
  },
  overloaded: { status: 503, meaning: 'More waits than can be done soon' },
  'store-full': { status: 503, meaning: 'The store has no room left; reads go on' },
  'rows-full': { status: 507, meaning: '`state.rows-max`, or what the memory holds, is reached' },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly meaning: string }>>;

export type ServiceErrorCode = keyof typeof ERRORS;

/** Every code, for tests and documents that must name them all. */
export const serviceErrorCodes = Object.keys(ERRORS) as readonly ServiceErrorCode[];

/** The HTTP status of a code. */
export const statusOf = (code: ServiceErrorCode): number => ERRORS[code].status;

/** What a code says to a caller, for the API description. */
export const meaningOf = (code: ServiceErrorCode): string => ERRORS[code].meaning;

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
    return statusOf(this.code);
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
