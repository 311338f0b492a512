/**
 * Describes an API as OpenAPI 3.1. The description is generated from the endpoints of the server and uses their own
 * parameters and schemas, so it cannot differ from the implementation.
 */
import type { TSchema } from 'typebox';
import type { Endpoint } from '../endpoint.ts';
import type { Parameter } from '../parameter.ts';
import type { ApiConventions, ApiDescription, Json } from './api-description.ts';
import { createNamedSchemas, type NamedSchemas } from './named-schemas.ts';
import { errorResponses, responses } from './openapi-responses.ts';

/** The parts of an OpenAPI document that other code reads. */
export interface OpenApi {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  /** By path and by method in lower case. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: Readonly<Record<'schemas' | 'responses' | 'securitySchemes', Json>>;
}

const IF_NONE_MATCH: Json = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The ETag of an earlier response. The status is 304 if the response has not changed.',
  schema: { type: 'string' },
};

/** Describes the endpoints below a prefix. Schemas with a `title` are defined once, under `components`. */
export function describeApi(endpoints: readonly Endpoint[], api: ApiDescription): OpenApi {
  const { title, version, prefix, conventions } = api;
  const schemas = createNamedSchemas('#/components/schemas');
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

/** Converts a path: `/v1/acl/token/:accessor` → `/v1/acl/token/{accessor}`. */
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

/** Returns the ID of an operation: `GET /v1/acl/token/:accessor` → `getAclTokenByAccessor`. */
function operationId(method: string, below: string): string {
  const words = below.split(/[/.-]/).flatMap((word) => (word.startsWith(':') ? ['by', word.slice(1)] : [word]));
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

function parameters(endpoint: Endpoint, conventions: ApiConventions): Json[] {
  const { path, query = [], headers = [] } = endpoint;
  return [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema: { type: 'string' },
    })),
    ...mergeParameters(conventions.query(endpoint), query).map((parameter) => toOpenApiParameter(parameter, 'query')),
    ...mergeParameters(conventions.headers(endpoint), headers).map((parameter) =>
      toOpenApiParameter(parameter, 'header'),
    ),
    ...(endpoint.conditional === true ? [IF_NONE_MATCH] : []),
  ];
}

/** Returns all parameters. The endpoint's own override common ones of the same name. */
function mergeParameters(common: readonly Parameter[], own: readonly Parameter[]): Parameter[] {
  const names = new Set(own.map(({ name }) => name));
  return [...common.filter(({ name }) => !names.has(name)), ...own];
}

const toOpenApiParameter = ({ name, description, schema, flag }: Parameter, location: 'query' | 'header'): Json => ({
  name,
  in: location,
  description,
  schema,
  ...(flag === true ? { allowEmptyValue: true } : {}),
});

/** Describes a body. An empty body counts as an empty object, so a body is required only if it has required fields. */
function requestBody(body: TSchema, bodyType: string, schemas: NamedSchemas): Json {
  const { required = [] } = body as { readonly required?: readonly string[] };
  return { required: required.length > 0, content: { [bodyType]: { schema: schemas.reference(body) } } };
}
