/** Errors of team access: a closed set of codes, the exception that carries them, and ways to collect several. */
import type { Steps } from '../../state/clock/slices.ts';
import { ERRORS_MAX } from '../limits.ts';

const DEFINITIONS = {
  'bad-request': { status: 400, title: 'bad request', meaning: 'A query parameter or `If-Match` is invalid' },
  unauthorized: { status: 401, title: 'unauthorized', meaning: 'The token is missing, unknown, expired or revoked' },
  forbidden: {
    status: 403,
    title: 'forbidden',
    meaning: 'The request would give more than the caller has, or remove the last owner or site administrator',
  },
  'not-found': {
    status: 404,
    title: 'not found',
    meaning: 'The resource does not exist, or the caller may not know of it',
  },
  'not-acceptable': { status: 406, title: 'not acceptable', meaning: 'The `Accept` header excludes JSON:API' },
  'precondition-failed': {
    status: 412,
    title: 'precondition failed',
    meaning: '`If-Match` does not match the current state',
  },
  'invalid-content-type': {
    status: 415,
    title: 'invalid content type',
    meaning: 'The `Content-Type` is not that of JSON:API',
  },
  'invalid-body': {
    status: 422,
    title: 'invalid request body',
    meaning: 'The body is not the expected JSON:API document',
  },
  'invalid-attribute': { status: 422, title: 'invalid attribute', meaning: 'A value is invalid' },
  'too-many-requests': { status: 429, title: 'too many requests', meaning: 'A limit of the caller is reached' },
} as const satisfies Readonly<Record<string, { status: number; title: string; meaning: string }>>;

export type ErrorCode = keyof typeof DEFINITIONS;

export const errorCodes = Object.keys(DEFINITIONS) as readonly ErrorCode[];

export const errorDefinition = (code: ErrorCode): (typeof DEFINITIONS)[ErrorCode] => DEFINITIONS[code];

/** One error of a request. `error-answer.ts` adds the status and title. */
export interface ErrorObject {
  readonly code: ErrorCode;
  readonly detail?: string;
  /** JSON pointer into the request body. */
  readonly pointer?: string;
  readonly parameter?: string;
  readonly meta?: Readonly<Record<string, string>>;
}

/** The errors of one step of the checks, which share a status ([TEAM-28]). */
export class JsonApiError extends Error {
  override readonly name = 'JsonApiError';
  readonly errors: readonly ErrorObject[];
  /** Additional response headers: name, value, name, value. */
  readonly headers: readonly string[];

  constructor(errors: readonly [ErrorObject, ...ErrorObject[]], headers: readonly string[] = []) {
    super(errors.map(({ code, detail }) => detail ?? errorDefinition(code).title).join('; '));
    this.errors = errors;
    this.headers = headers;
  }
}

/** Throws the collected errors, if there are any. @throws JsonApiError */
export function throwErrors(errors: readonly ErrorObject[]): void {
  const [first, ...rest] = errors;
  if (first !== undefined) throw new JsonApiError([first, ...rest]);
}

/** Returns the same error for missing resources and for resources that the caller may not know of ([TEAM-34]). */
export const notFound = (): JsonApiError => new JsonApiError([{ code: 'not-found' }]);

export const attributeError = (name: string, detail: string): ErrorObject => ({
  code: 'invalid-attribute',
  detail,
  pointer: `/data/attributes/${name}`,
});

/** Maps a JSON pointer in a part of a document to one in the whole. `undefined` refers to the part itself. */
export type PointerMapping = (pointer: string | undefined) => string;

/** Runs `check` on a part of a document and maps the pointers of its errors to the whole. @throws JsonApiError */
export function withErrorsAt<T>(mapPointer: PointerMapping, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw errorAt(mapPointer, error);
  }
}

/** Runs steps for a part of a document as `withErrorsAt` does. @throws JsonApiError */
export function* stepsWithErrorsAt<T>(mapPointer: PointerMapping, steps: Steps<T>): Steps<T> {
  try {
    return yield* steps;
  } catch (error) {
    throw errorAt(mapPointer, error);
  }
}

function errorAt(mapPointer: PointerMapping, error: unknown): unknown {
  if (!(error instanceof JsonApiError)) return error;
  const [first, ...rest] = error.errors.map((one): ErrorObject => ({ ...one, pointer: mapPointer(one.pointer) }));
  return first === undefined ? error : new JsonApiError([first, ...rest], error.headers);
}

/**
 * Returns the results of `check` for all parts, or throws the errors of all parts together. Pauses after each part.
 * @throws JsonApiError
 */
export function* checkAll<Part, T>(parts: readonly Part[], check: (part: Part, position: number) => T): Steps<T[]> {
  const checked: T[] = [];
  const errors: ErrorObject[] = [];
  for (const [position, part] of parts.entries()) {
    yield;
    try {
      checked.push(check(part, position));
    } catch (error) {
      if (!(error instanceof JsonApiError)) throw error;
      errors.push(...error.errors);
      // The answer contains no more errors, and a document can have very many parts.
      if (errors.length >= ERRORS_MAX) break;
    }
  }
  throwErrors(errors);
  return checked;
}
