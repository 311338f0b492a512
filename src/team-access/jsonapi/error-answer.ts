/** How team access tells errors: JSON:API error documents, those of the HTTP edge included. */
import { type Static, Type } from 'typebox';
import type { Answer } from '../../http/answer.ts';
import type { ErrorForm } from '../../http/call.ts';
import type { ServiceErrorCode } from '../../http/errors.ts';
import { FAULTS_MAX } from '../limits.ts';
import { type Fault, faultOf, type JsonApiError } from './errors.ts';
import { JSON_API } from './media-type.ts';

export const errorsSchema = Type.Object(
  {
    errors: Type.Array(
      Type.Object(
        {
          status: Type.String(),
          title: Type.String(),
          detail: Type.Optional(Type.String({ description: 'What people read.' })),
          source: Type.Optional(
            Type.Object({
              pointer: Type.Optional(Type.String({ description: 'Where in the body, as a JSON pointer.' })),
              parameter: Type.Optional(Type.String({ description: 'Which query parameter.' })),
            }),
          ),
          meta: Type.Optional(Type.Record(Type.String(), Type.String())),
        },
        { title: 'Error' },
      ),
    ),
  },
  { title: 'Errors', description: 'All faults that one step of the checks has found.' },
);
type ErrorDocument = Static<typeof errorsSchema>;
type ErrorObject = ErrorDocument['errors'][number];

/** The answer for a refusal of team access. */
export function refusalAnswer({ faults, headers }: JsonApiError): Answer {
  const told = faults.slice(0, FAULTS_MAX).map(errorObject);
  return errorAnswer(Number(told[0]?.status), told, headers);
}

/** What the edge has to say, in the form of team access; for the server's `errorForms`. */
export const edgeErrorForm: ErrorForm = (call, { code, status, message, headers, retryAfterSeconds }) => {
  const title = EDGE_TITLES[code];
  const told: ErrorObject = { status: String(status), title };
  // Of what is not there nothing is said that could tell it from what may not be known.
  const detail = code === 'internal' ? `request ${call.id}` : message;
  const retry = retryAfterSeconds === undefined ? [] : ['Retry-After', String(retryAfterSeconds)];
  return errorAnswer(status, [code === 'not-found' ? told : { ...told, detail }], [...headers, ...retry]);
};

const EDGE_TITLES: Readonly<Record<ServiceErrorCode, string>> = {
  'bad-request': 'bad request',
  'permission-denied': 'forbidden',
  'not-found': 'not found',
  'method-not-allowed': 'method not allowed',
  'request-timeout': 'request timeout',
  conflict: 'conflict',
  'precondition-failed': 'precondition failed',
  'too-large': 'payload too large',
  'headers-too-large': 'request header fields too large',
  'rate-limited': 'too many requests',
  internal: 'internal error',
  unavailable: 'service unavailable',
  'outcome-unknown': 'outcome unknown',
  overloaded: 'service unavailable',
  'store-full': 'store full',
  'rows-full': 'insufficient storage',
};

function errorObject({ code, detail, pointer, parameter, meta }: Fault): ErrorObject {
  const { status, title } = faultOf(code);
  const source = { ...(pointer !== undefined && { pointer }), ...(parameter !== undefined && { parameter }) };
  return {
    status: String(status),
    title,
    ...(detail !== undefined && { detail }),
    ...((pointer ?? parameter) !== undefined && { source }),
    ...(meta !== undefined && { meta }),
  };
}

function errorAnswer(status: number, errors: ErrorObject[], headers: readonly string[]): Answer {
  const document: ErrorDocument = { errors };
  return {
    status,
    contentType: JSON_API,
    body: JSON.stringify(document),
    headers: ['X-Content-Type-Options', 'nosniff', ...headers],
  };
}
