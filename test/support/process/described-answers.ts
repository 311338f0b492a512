/** Holds real answers against the description of the API, more strictly than a client may: no field is undeclared. */
import assert from 'node:assert/strict';
import { Errors } from 'typebox/schema';
import type { Json } from '../../../src/http/openapi/api-description.ts';
import { type OpenApi, pathTemplate } from '../../../src/http/openapi/openapi.ts';
import type { Answer } from './server.ts';

/** Headers that every answer of HTTP can have: the description of an API need not name them. */
const OF_HTTP = new Set([
  ...['cache-control', 'connection', 'content-encoding', 'content-length', 'content-type', 'date', 'keep-alive'],
  ...['transfer-encoding', 'vary', 'x-content-type-options'],
]);

/** What an answer may look like; its parts follow OpenAPI's response object. */
interface Response {
  readonly headers?: Readonly<Record<string, { readonly schema: Json }>>;
  readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
}

/** Fails unless the answer is one that the description of `METHOD /path/:name` tells of. */
export function assertDescribed(document: OpenApi, endpoint: string, answer: Answer): void {
  const [method = '', path = ''] = endpoint.split(' ');
  const operation = document.paths[pathTemplate(path)]?.[method.toLowerCase()];
  assert.ok(operation !== undefined, `${endpoint} is not described`);
  const response = (operation['responses'] as Json)[answer.status];
  const told = `${endpoint}, ${answer.status} ${answer.text}`;
  assert.ok(response !== undefined, `the status is not described: ${told}`);
  const { headers = {}, content } = resolved(document, response) as Response;

  const declared = Object.keys(headers).map((name) => name.toLowerCase());
  const undeclared = Object.keys(answer.headers).filter((name) => !OF_HTTP.has(name) && !declared.includes(name));
  assert.deepEqual(undeclared, [], `headers are not described: ${told}`);

  if (content === undefined) {
    assert.equal(answer.text, '', `a body is not described: ${told}`);
    return;
  }
  const mediaType = answer.headers['content-type'] ?? '';
  const schema = content[mediaType]?.schema;
  assert.ok(schema !== undefined, `${mediaType} is not described: ${told}`);
  const value: unknown = /[/+]json(;|$)/.test(mediaType) ? answer.json() : answer.text;
  const [fits, errors] = Errors(strict(schema) as Json, value);
  assert.ok(fits, `${errors.map(({ instancePath, message }) => `${instancePath} ${message}`).join('; ')}: ${told}`);
}

/** A part of the document with every reference replaced by what it leads to. */
function resolved(document: OpenApi, part: unknown): unknown {
  if (Array.isArray(part)) return part.map((inner) => resolved(document, inner));
  if (typeof part !== 'object' || part === null) return part;
  if ('$ref' in part) {
    const steps = String(part.$ref).split('/').slice(1);
    return resolved(
      document,
      steps.reduce<unknown>((at, step) => (at as Json | undefined)?.[step], document),
    );
  }
  return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, resolved(document, inner)]));
}

/** The schema with every object closed that does not say that it is open. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, strict(value)]));
  return typeof inner['properties'] === 'object' ? { additionalProperties: false, ...inner } : inner;
}
