/** The error type of every service: a closed set of codes, with one table of their HTTP statuses and meanings. */
import { isStateError, type StateErrorCode } from '../state/errors.ts';

const ERRORS = {
  'bad-request': { status: 400, meaning: 'The body, a parameter, a header, or a name is invalid' },
  unauthorized: { status: 401, meaning: 'The request to team access has no valid token' },
  'permission-denied': {
    status: 403,
    meaning: 'The caller lacks a grant, its token is unknown or expired, or the calling page has a foreign origin',
  },
  'not-found': { status: 404, meaning: 'The item does not exist, or no endpoint has this path' },
  'method-not-allowed': {
    status: 405,
    meaning: 'The path exists, but not with this method; `Allow` lists its methods',
  },
  'request-timeout': { status: 408, meaning: 'The request did not arrive in time' },
  conflict: { status: 409, meaning: 'The request conflicts with the current state' },
  'precondition-failed': { status: 412, meaning: 'A condition of the request does not hold' },
  'too-large': { status: 413, meaning: 'The body, or one write, exceeds the limit that the message names' },
  'unsupported-media-type': { status: 415, meaning: 'The body is not of the media type of team access' },
  'headers-too-large': { status: 431, meaning: 'The request headers exceed their limit' },
  'rate-limited': { status: 429, meaning: 'The caller has reached the limit that the message names' },
  internal: { status: 500, meaning: 'The server has a defect; the log has the cause under the request ID' },
  'not-implemented': {
    status: 501,
    meaning: 'With `compat: consul`: the path is one of Consul that Accord does not serve',
  },
  unavailable: { status: 503, meaning: 'The store, or the other cluster, cannot be reached; nothing was changed' },
  'outcome-unknown': {
    status: 503,
    meaning: 'The store did not report in time whether the change was committed; read before you retry',
  },
  overloaded: { status: 503, meaning: 'Too many writes are pending, or too many bytes of request bodies' },
  'store-full': { status: 507, meaning: 'The store has no space left; reads still work' },
  'quota-exceeded': {
    status: 422,
    meaning: 'The request would exceed the row quota that the message names, such as that of a partition',
  },
  'rows-full': { status: 507, meaning: '`state.rows-max`, or the limit that the memory allows, is reached' },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly meaning: string }>>;

export type ServiceErrorCode = keyof typeof ERRORS;

/** Every code, for tests and documents that must list them all. */
export const serviceErrorCodes = Object.keys(ERRORS) as readonly ServiceErrorCode[];

export const statusOf = (code: ServiceErrorCode): number => ERRORS[code].status;

/** Returns the sentence that describes a code in the API description. */
export const meaningOf = (code: ServiceErrorCode): string => ERRORS[code].meaning;

/** The code for each error of the state. An error that no request can cause is `internal`. */
const CODE_OF_STATE_ERROR: Readonly<Record<StateErrorCode, ServiceErrorCode>> = {
  unavailable: 'unavailable',
  'outcome-unknown': 'outcome-unknown',
  overloaded: 'overloaded',
  full: 'store-full',
  'too-large': 'too-large',
  'rows-max': 'rows-full',
  quota: 'quota-exceeded',
  'rate-limited': 'rate-limited',
  aborted: 'unavailable',
  'memory-full': 'internal',
  locked: 'internal',
  corrupt: 'internal',
  'name-taken': 'internal',
  'not-empty': 'internal',
  'fell-behind': 'internal',
};

export interface ServiceErrorOptions {
  /** For the log. Clients never see it. */
  readonly cause?: unknown;
  readonly retryAfterSeconds?: number | undefined;
  /** The query parameter that is invalid. */
  readonly parameter?: string;
  /** Additional response headers, flat: name, value, name, value. */
  readonly headers?: readonly string[];
}

/** A rejected or failed request. Clients see `message`, except for `internal`. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ServiceErrorCode;
  readonly retryAfterSeconds: number | undefined;
  readonly parameter: string | undefined;
  readonly headers: readonly string[];

  constructor(code: ServiceErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    // Every 503 says when a retry can succeed [V1-50].
    this.retryAfterSeconds = options.retryAfterSeconds ?? (statusOf(code) === 503 ? 1 : undefined);
    this.parameter = options.parameter;
    this.headers = options.headers ?? [];
  }

  get status(): number {
    return statusOf(this.code);
  }
}

/** Translates anything thrown. Unknown errors become the cause of an `internal` error. */
export function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (isStateError(error)) {
    const { message, retryAfterSeconds } = error;
    return new ServiceError(CODE_OF_STATE_ERROR[error.code], message, { cause: error, retryAfterSeconds });
  }
  return new ServiceError('internal', 'internal error', { cause: error });
}
