/** Checks responses against the OpenAPI description of the API. Unlike a client, it rejects undeclared fields. */
import assert from 'node:assert/strict';
import { Errors } from 'typebox/schema';
import type { Json } from '../../../src/http/openapi/api-description.ts';
import { type OpenApi, pathTemplate } from '../../../src/http/openapi/openapi.ts';
import type { Answer } from './server.ts';

/** Headers that any HTTP response can have. The description need not declare them. */
const HTTP_HEADERS = new Set([
  ...['cache-control', 'connection', 'content-encoding', 'content-length', 'content-type', 'date', 'keep-alive'],
  ...['transfer-encoding', 'vary', 'x-content-type-options'],
]);

/** The used fields of OpenAPI's response object. */
interface Response {
  readonly headers?: Readonly<Record<string, { readonly schema: Json }>>;
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
}

/** @throws AssertionError if the description of `METHOD /path/:name` does not allow the response */
export function assertConformsToOpenApi(document: OpenApi, endpoint: string, answer: Answer): void {
  const [method = '', path = ''] = endpoint.split(' ');
  const operation = document.paths[pathTemplate(path)]?.[method.toLowerCase()];
  assert.ok(operation !== undefined, `${endpoint} is not described`);
  const response = (operation['responses'] as Json)[answer.status];
  const summary = `${endpoint}, ${answer.status} ${answer.text}`;
  assert.ok(response !== undefined, `the status is not described: ${summary}`);
  const { headers = {}, content } = resolveReferences(document, response) as Response;

  const declared = Object.keys(headers).map((name) => name.toLowerCase());
  const undeclared = Object.keys(answer.headers).filter((name) => !HTTP_HEADERS.has(name) && !declared.includes(name));
  assert.deepEqual(undeclared, [], `headers are not described: ${summary}`);

  if (content === undefined) {
    assert.equal(answer.text, '', `a body is not described: ${summary}`);
    return;
  }
  const mediaType = answer.headers['content-type'] ?? '';
  const schema = content[mediaType]?.schema;
  assert.ok(schema !== undefined, `${mediaType} is not described: ${summary}`);
  const value: unknown = /[/+]json(;|$)/.test(mediaType) ? answer.json() : answer.text;
  const [isValid, errors] = Errors(closeObjects(schema) as Json, value);
  const problems = errors.map(({ instancePath, message }) => `${instancePath} ${message}`).join('; ');
  assert.ok(isValid, `${problems}: ${summary}`);
}

/** Returns a part of the document with every reference replaced by its target. */
function resolveReferences(document: OpenApi, part: unknown): unknown {
  if (Array.isArray(part)) return part.map((inner) => resolveReferences(document, inner));
  if (typeof part !== 'object' || part === null) return part;
  if ('$ref' in part) {
    const steps = String(part.$ref).split('/').slice(1);
    return resolveReferences(
      document,
      steps.reduce<unknown>((at, step) => (at as Json | undefined)?.[step], document),
    );
  }
  return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, resolveReferences(document, inner)]));
}

/** Returns the schema with `additionalProperties: false` in every object schema that does not set it. */
function closeObjects(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closeObjects);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closeObjects(value)]));
  return typeof inner['properties'] === 'object' ? { additionalProperties: false, ...inner } : inner;
}
