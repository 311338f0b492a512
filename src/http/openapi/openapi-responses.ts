/** What an endpoint answers with, for its description: one success, and the errors that its kind of request can meet. */
import { STATUS_CODES } from 'node:http';
import { Type } from 'typebox';
import type { Endpoint } from '../endpoint.ts';
import { meaningOf, type ServiceErrorCode, serviceErrorCodes, statusOf } from '../errors.ts';
import type { Parameter } from '../parameter.ts';
import type { Conventions, DescribedError, Json } from './api-description.ts';
import type { NamedSchemas } from './named-schemas.ts';

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

/** The errors of the edge. */
const OF_EDGE: readonly DescribedError[] = serviceErrorCodes.map((code) => ({
  code,
  status: statusOf(code),
  meaning: meaningOf(code),
  toldTo: OF_NO_ENDPOINT.has(code) ? 'strays' : OF_WRITES.has(code) ? 'writes' : 'all',
}));

/** Every answer of an endpoint, by status. */
export function responses(endpoint: Endpoint, conventions: Conventions, schemas: NamedSchemas): Json {
  const changes = endpoint.method !== 'GET' && endpoint.refused !== true;
  const { errors: all = OF_EDGE } = conventions;
  const told = statusesOf(all.filter(({ toldTo }) => toldTo === 'all' || (changes && toldTo === 'writes')));
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
    statusesOf(conventions.errors ?? OF_EDGE).map((status) => [
      nameOf(status),
      errorResponse(status, conventions, schemas, []),
    ]),
  );
}

function errorResponse(
  status: number,
  { errorForms, errors = OF_EDGE, errorHeaders = [] }: Conventions,
  schemas: NamedSchemas,
  more: readonly Parameter[],
): Json {
  const told = errors.filter((error) => error.status === status);
  const forms = Object.entries(errorForms).map(([mediaType, schema]) => [mediaType, { schema: schemas.refer(schema) }]);
  return {
    description: told.map(({ code, meaning }) => `\`${code}\`: ${meaning}.`).join(' '),
    headers: headers([REQUEST_ID, RETRY_AFTER, ...errorHeaders, ...more]),
    content: Object.fromEntries(forms),
  };
}

function successes(endpoint: Endpoint, conventions: Conventions, schemas: NamedSchemas): Json {
  const { answer, answerType = conventions.jsonType, answerHeaders = [], conditional, status = 200 } = endpoint;
  const common = conventions.answerHeaders(endpoint);
  const told = headers([REQUEST_ID, ...(conditional === true ? [ETAG] : []), ...common, ...answerHeaders]);
  const content = answer === undefined ? {} : { content: { [answerType]: { schema: schemas.refer(answer) } } };
  const success = { description: 'Done.', headers: told, ...content };
  if (conditional !== true) return { [status]: success };
  return { [status]: success, 304: { description: 'The caller has the answer already.', headers: told } };
}

const headers = (declared: readonly Parameter[]): Json =>
  Object.fromEntries(declared.map(({ name, description, schema }) => [name, { description, schema }]));

/** The statuses of some errors, each once, in order. */
const statusesOf = (errors: readonly DescribedError[]): number[] =>
  [...new Set(errors.map(({ status }) => status))].toSorted((a, b) => a - b);

/** 404 → `NotFound`. */
const nameOf = (status: number): string => (STATUS_CODES[status] ?? '').replaceAll(/\W/g, '');
