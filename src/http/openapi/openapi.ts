/**
 * The description of an API as OpenAPI 3.1, made from the endpoints that the server routes to: their paths, parameters
 * and schemas are the ones that requests are read and answers are typed with, so the two cannot tell different things.
 */
import type { TSchema } from 'typebox';
import type { Endpoint } from '../endpoint.ts';
import type { Parameter } from '../parameter.ts';
import type { ApiDescription, Conventions, Json } from './api-description.ts';
import { type NamedSchemas, namedSchemas } from './named-schemas.ts';
import { errorResponses, responses } from './openapi-responses.ts';

/** The document, as far as others look into it. */
export interface OpenApi {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  /** By path and method, in lower case. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: Readonly<Record<'schemas' | 'responses' | 'securitySchemes', Json>>;
}

/** The header with which a client says what it has; see `Endpoint.conditional`. */
const IF_NONE_MATCH: Json = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The ETag of an earlier answer: 304 if that is still the answer.',
  schema: { type: 'string' },
};

/** Describes the endpoints below a prefix. A schema with a `title` stands once, under `components`. */
export function describeApi(endpoints: readonly Endpoint[], api: ApiDescription): OpenApi {
  const { title, version, prefix, conventions } = api;
  const schemas = namedSchemas('#/components/schemas');
  const paths: Record<string, Record<string, Json>> = {};
  for (const endpoint of endpoints) {
    if (!endpoint.path.startsWith(prefix)) continue;
    const path = pathTemplate(endpoint.path);
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operation(endpoint, api, schemas) };
  }
  const errors = errorResponses(conventions, schemas);
  return {
    openapi: '3.1.0',
    info: { title, version },
    paths,
    components: { schemas: schemas.all(), responses: errors, securitySchemes: conventions.securitySchemes },
  };
}

/** `/v1/acl/token/:accessor` → `/v1/acl/token/{accessor}`. */
export const pathTemplate = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}');

function operation(endpoint: Endpoint, { prefix, conventions }: ApiDescription, schemas: NamedSchemas): Json {
  const { path, summary, open, body, bodyType = conventions.jsonType } = endpoint;
  const below = path.slice(prefix.length);
  const schemes = Object.keys(conventions.securitySchemes);
  return {
    operationId: operationId(endpoint.method, below),
    summary,
    tags: [below.split('/')[0]],
    security: open === true ? [] : schemes.map((scheme) => ({ [scheme]: [] })),
    parameters: parameters(endpoint, conventions),
    ...(body === undefined ? {} : { requestBody: requestBody(body, bodyType, schemas) }),
    responses: responses(endpoint, conventions, schemas),
  };
}

/** `GET /v1/acl/token/:accessor` → `getAclTokenByAccessor`. */
function operationId(method: string, below: string): string {
  const words = below.split(/[/.-]/).flatMap((word) => (word.startsWith(':') ? ['by', word.slice(1)] : [word]));
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

function parameters(endpoint: Endpoint, conventions: Conventions): Json[] {
  const { path, query = [], headers = [] } = endpoint;
  return [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
    ...merged(conventions.query(endpoint), query).map((parameter) => located(parameter, 'query')),
    ...merged(conventions.headers(endpoint), headers).map((parameter) => located(parameter, 'header')),
    ...(endpoint.conditional === true ? [IF_NONE_MATCH] : []),
  ];
}

/** What all have, unless an endpoint's own has that name, and then its own. */
function merged(common: readonly Parameter[], own: readonly Parameter[]): Parameter[] {
  const names = new Set(own.map(({ name }) => name));
  return [...common.filter(({ name }) => !names.has(name)), ...own];
}

const located = ({ name, description, schema, flag }: Parameter, place: string): Json => ({
  name,
  in: place,
  description,
  schema,
  ...(flag === true ? { allowEmptyValue: true } : {}),
});

/** The declared type of a body is not looked at; an empty one is an empty object. */
function requestBody(body: TSchema, bodyType: string, schemas: NamedSchemas): Json {
  const { required = [] } = body as { readonly required?: readonly string[] };
  return { required: required.length > 0, content: { [bodyType]: { schema: schemas.refer(body) } } };
}
