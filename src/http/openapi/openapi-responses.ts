/** Describes the responses of endpoints: one success, and the errors that apply to the kind of endpoint. */
import { STATUS_CODES } from 'node:http';
import { Type } from 'typebox';
import type { Endpoint } from '../endpoint.ts';
import { meaningOf, type ServiceErrorCode, serviceErrorCodes, statusOf } from '../errors.ts';
import type { Parameter } from '../parameter.ts';
import type { ApiConventions, DescribedError, Json } from './api-description.ts';
import type { NamedSchemas } from './named-schemas.ts';

const REQUEST_ID: Parameter = {
  name: 'X-Request-Id',
  description: 'Identifies the request in the log. Repeats the X-Request-Id of the request if that is valid.',
  schema: Type.String(),
};
const RETRY_AFTER: Parameter = {
  name: 'Retry-After',
  description: 'The time after which to retry, in seconds.',
  schema: Type.Integer({ minimum: 0 }),
};
const ETAG: Parameter = {
  name: 'ETag',
  description: 'The version of the response, for If-None-Match.',
  schema: Type.String(),
};

const UNMATCHED_ERRORS: ReadonlySet<ServiceErrorCode> = new Set(['not-implemented', 'method-not-allowed']);

const WRITE_ERRORS: ReadonlySet<ServiceErrorCode> = new Set([
  'conflict',
  'precondition-failed',
  'too-large',
  'outcome-unknown',
  'overloaded',
  'store-full',
  'quota-exceeded',
  'rows-full',
]);

const SERVICE_ERRORS: readonly DescribedError[] = serviceErrorCodes.map((code) => ({
  code,
  status: statusOf(code),
  meaning: meaningOf(code),
  appliesTo: UNMATCHED_ERRORS.has(code) ? 'unmatched' : WRITE_ERRORS.has(code) ? 'writes' : 'all',
}));

export function responses(endpoint: Endpoint, conventions: ApiConventions, schemas: NamedSchemas): Json {
  const changes = endpoint.method !== 'GET' && endpoint.unsupported !== true;
  const { errors: all = SERVICE_ERRORS } = conventions;
  const statuses = statusesOf(
    all.filter(({ appliesTo }) => appliesTo === 'all' || (changes && appliesTo === 'writes')),
  );
  const errors = statuses.map((status) => [
    status,
    // A blocking query can wait for a missing item to appear, so its 404 has the headers of a read.
    status === 404 && endpoint.blocking === true
      ? errorResponse(status, conventions, schemas, conventions.answerHeaders(endpoint))
      : { $ref: `#/components/responses/${nameOf(status)}` },
  ]);
  return {
    ...(endpoint.unsupported === true ? {} : successes(endpoint, conventions, schemas)),
    ...Object.fromEntries(errors),
  };
}

/** Returns the error responses that endpoints reference, by name. */
export function errorResponses(conventions: ApiConventions, schemas: NamedSchemas): Json {
  return Object.fromEntries(
    statusesOf(conventions.errors ?? SERVICE_ERRORS).map((status) => [
      nameOf(status),
      errorResponse(status, conventions, schemas, []),
    ]),
  );
}

function errorResponse(
  status: number,
  { errorSchemas, errors = SERVICE_ERRORS, errorHeaders = [] }: ApiConventions,
  schemas: NamedSchemas,
  more: readonly Parameter[],
): Json {
  const matching = errors.filter((error) => error.status === status);
  const forms = Object.entries(errorSchemas).map(([mediaType, schema]) => [
    mediaType,
    { schema: schemas.reference(schema) },
  ]);
  return {
    description: matching.map(({ code, meaning }) => `\`${code}\`: ${meaning}.`).join(' '),
    headers: headers([REQUEST_ID, RETRY_AFTER, ...errorHeaders, ...more]),
    content: Object.fromEntries(forms),
  };
}

function successes(endpoint: Endpoint, conventions: ApiConventions, schemas: NamedSchemas): Json {
  const { answer, answerType = conventions.jsonType, answerHeaders = [], conditional, status = 200 } = endpoint;
  const common = conventions.answerHeaders(endpoint);
  const described = headers([REQUEST_ID, ...(conditional === true ? [ETAG] : []), ...common, ...answerHeaders]);
  const content = answer === undefined ? {} : { content: { [answerType]: { schema: schemas.reference(answer) } } };
  const success = { description: 'Success.', headers: described, ...content };
  if (conditional !== true) return { [status]: success };
  return { [status]: success, 304: { description: 'The response has not changed.', headers: described } };
}

const headers = (declared: readonly Parameter[]): Json =>
  Object.fromEntries(declared.map(({ name, description, schema }) => [name, { description, schema }]));

const statusesOf = (errors: readonly DescribedError[]): number[] =>
  [...new Set(errors.map(({ status }) => status))].toSorted((a, b) => a - b);

/** Returns the name of a response: 404 → `NotFound`. */
const nameOf = (status: number): string => (STATUS_CODES[status] ?? '').replaceAll(/\W/g, '');
