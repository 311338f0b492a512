/** Refusals of team access: a closed set of faults with their statuses and titles, and the one error that carries them. */

const FAULTS = {
  'bad-request': { status: 400, title: 'bad request', meaning: 'A query parameter, or If-Match, is not as it must be' },
  unauthorized: { status: 401, title: 'unauthorized', meaning: 'No token, or one that is not good (any more)' },
  forbidden: {
    status: 403,
    title: 'forbidden',
    meaning: 'An organization would be left without an owner, or the server without a site administrator',
  },
  'not-found': { status: 404, title: 'not found', meaning: 'There is no such thing, or the caller may not know of it' },
  'not-acceptable': { status: 406, title: 'not acceptable', meaning: 'The Accept header rules JSON:API out' },
  'precondition-failed': { status: 412, title: 'precondition failed', meaning: 'If-Match does not hold' },
  'invalid-content-type': {
    status: 415,
    title: 'invalid content type',
    meaning: 'The Content-Type is not that of JSON:API',
  },
  'invalid-body': {
    status: 422,
    title: 'invalid request body',
    meaning: 'The body is not the document that is wanted',
  },
  'invalid-attribute': { status: 422, title: 'invalid attribute', meaning: 'A value is not as it must be' },
  'too-many-requests': { status: 429, title: 'too many requests', meaning: '`team-access.rate-limit` is reached' },
} as const satisfies Readonly<Record<string, { status: number; title: string; meaning: string }>>;

export type FaultCode = keyof typeof FAULTS;

/** Every code, for the API description. */
export const faultCodes = Object.keys(FAULTS) as readonly FaultCode[];

/** The status, title and meaning of a code. */
export const faultOf = (code: FaultCode): (typeof FAULTS)[FaultCode] => FAULTS[code];

/** One thing that is wrong with a request. */
export interface Fault {
  readonly code: FaultCode;
  readonly detail?: string;
  /** Where in the body, as a JSON pointer. */
  readonly pointer?: string;
  /** Which query parameter. */
  readonly parameter?: string;
  readonly meta?: Readonly<Record<string, string>>;
}

/** Refuses a request: all faults of one step of the checks, at least one. They share a status. */
export class JsonApiError extends Error {
  override readonly name = 'JsonApiError';
  readonly faults: readonly Fault[];
  /** Further headers of the answer, flat: name, value, name, value. */
  readonly headers: readonly string[];

  constructor(faults: readonly [Fault, ...Fault[]], headers: readonly string[] = []) {
    super(faults.map(({ code, detail }) => detail ?? faultOf(code).title).join('; '));
    this.faults = faults;
    this.headers = headers;
  }
}

/** Refuses if there is something to refuse. @throws JsonApiError */
export function throwFaults(faults: readonly Fault[]): void {
  const [first, ...rest] = faults;
  if (first !== undefined) throw new JsonApiError([first, ...rest]);
}

/** The one refusal for what is not there and for what the caller may not know of: nothing tells them apart. */
export const notFound = (): JsonApiError => new JsonApiError([{ code: 'not-found' }]);

/** The refusal of one attribute. */
export const attributeFault = (name: string, detail: string): Fault => ({
  code: 'invalid-attribute',
  detail,
  pointer: `/data/attributes/${name}`,
});
