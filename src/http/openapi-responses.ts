/** What an endpoint answers with, for its description: one success, and the errors that its kind of request can meet. */
import { STATUS_CODES } from 'node:http';
import { Type } from 'typebox';
import type { Conventions, Json } from './api-description.ts';
import type { Endpoint } from './endpoint.ts';
import { meaningOf, type ServiceErrorCode, serviceErrorCodes, statusOf } from './errors.ts';
import type { NamedSchemas } from './named-schemas.ts';
import type { Parameter } from './parameter.ts';

const REQUEST_ID: Parameter = {
  name: 'X-Request-Id',
  description: 'Finds the request in the log: the one that the request had, else a new one.',
  schema: Type.String(),
};
const RETRY_AFTER: Parameter = {
  name: 'Retry-After',
  description: 'When to try again, in seconds.',
  schema: Type.Integer({ minimum: 0 }),
};
const ETAG: Parameter = {
  name: 'ETag',
  description: 'What to pass as If-None-Match.',
  schema: Type.String(),
};

/** Told where there is no endpoint for the method. */
const OF_NO_ENDPOINT: ReadonlySet<ServiceErrorCode> = new Set(['method-not-allowed']);

/** Told to those alone who send or change something. */
const OF_WRITES: ReadonlySet<ServiceErrorCode> = new Set([
  'conflict',
  'precondition-failed',
  'too-large',
  'outcome-unknown',
  'overloaded',
  'store-full',
  'rows-full',
]);

/** Every answer of an endpoint, by status. */
export function responses(endpoint: Endpoint, conventions: Conventions, schemas: NamedSchemas): Json {
  const changes = endpoint.method !== 'GET' && endpoint.refused !== true;
  const told = errorStatuses((code) => !OF_NO_ENDPOINT.has(code) && (changes || !OF_WRITES.has(code)));
  const errors = told.map((status) => [
    status,
    // What is not there can be waited for, so this answer says from where on.
    status === 404 && endpoint.blocking === true
      ? errorResponse(status, conventions, schemas, conventions.answerHeaders(endpoint))
      : { $ref: `#/components/responses/${nameOf(status)}` },
  ]);
  return {
    ...(endpoint.refused === true ? {} : successes(endpoint, conventions, schemas)),
    ...Object.fromEntries(errors),
  };
}

/** The errors that endpoints refer to, by the words of their status. */
export function errorResponses(conventions: Conventions, schemas: NamedSchemas): Json {
  return Object.fromEntries(
    errorStatuses(() => true).map((status) => [nameOf(status), errorResponse(status, conventions, schemas, [])]),
  );
}

function errorResponse(
  status: number,
  { errorForms }: Conventions,
  schemas: NamedSchemas,
  more: readonly Parameter[],
): Json {
  const codes = serviceErrorCodes.filter((code) => statusOf(code) === status);
  const forms = Object.entries(errorForms).map(([mediaType, schema]) => [mediaType, { schema: schemas.refer(schema) }]);
  return {
    description: codes.map((code) => `\`${code}\`: ${meaningOf(code)}.`).join(' '),
    headers: headers([REQUEST_ID, RETRY_AFTER, ...more]),
    content: Object.fromEntries(forms),
  };
}

function successes(endpoint: Endpoint, conventions: Conventions, schemas: NamedSchemas): Json {
  const { answer, answerType = conventions.jsonType, answerHeaders = [], conditional } = endpoint;
  const common = conventions.answerHeaders(endpoint);
  const told = headers([REQUEST_ID, ...(conditional === true ? [ETAG] : []), ...common, ...answerHeaders]);
  const content = answer === undefined ? {} : { content: { [answerType]: { schema: schemas.refer(answer) } } };
  const success = { description: 'Done.', headers: told, ...content };
  if (conditional !== true) return { 200: success };
  return { 200: success, 304: { description: 'The caller has the answer already.', headers: told } };
}

const headers = (declared: readonly Parameter[]): Json =>
  Object.fromEntries(declared.map(({ name, description, schema }) => [name, { description, schema }]));

/** The statuses of some codes, each once, in order. */
function errorStatuses(isTold: (code: ServiceErrorCode) => boolean): number[] {
  return [...new Set(serviceErrorCodes.filter(isTold).map(statusOf))].sort((a, b) => a - b);
}

/** 404 → `NotFound`. */
const nameOf = (status: number): string => (STATUS_CODES[status] ?? '').replaceAll(/\W/g, '');
