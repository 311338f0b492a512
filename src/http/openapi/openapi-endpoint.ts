/** The endpoint that serves the description of an API. */
import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import type { Call } from '../call.ts';
import type { Endpoint, OpenEndpoint } from '../endpoint.ts';
import { type RenderedJson, renderedAnswer, renderJson } from '../v1/json-answer.ts';
import { PRETTY } from '../v1/parameters.ts';
import type { ApiDescription } from './api-description.ts';
import { describeApi } from './openapi.ts';

const answerSchema = Type.Object({}, { additionalProperties: true, description: 'An OpenAPI 3.1 document.' });

/** The document, rendered and compressed once. */
interface RenderedDocument {
  readonly compact: RenderedJson;
  readonly pretty: RenderedJson;
  readonly headers: readonly string[];
  readonly tag: string;
}

/**
 * Returns the endpoint `GET …/openapi.json` below the API's prefix. It needs no token, because it reveals no state.
 * @param endpoints the endpoints of the server. Read at the first request, so that later additions are included.
 */
export function openApiEndpoint(endpoints: readonly Endpoint[], api: ApiDescription): OpenEndpoint {
  let rendered: RenderedDocument | undefined;
  return {
    method: 'GET',
    path: `${api.prefix}openapi.json`,
    summary: 'Describes this API as OpenAPI 3.1',
    open: true,
    conditional: true,
    query: [PRETTY],
    answer: answerSchema,
    answerType: 'application/json',
    handle(call) {
      rendered ??= renderDocument(describeApi(endpoints, api));
      const { compact, pretty, headers, tag } = rendered;
      if (matchesIfNoneMatch(call, tag)) return { status: 304, body: '', headers };
      return renderedAnswer(call, call.query.has(PRETTY.name) ? pretty : compact, { headers });
    },
  };
}

function renderDocument(document: object): RenderedDocument {
  const compact = renderJson(document, false);
  // A weak tag, because the indented and the compressed document have the same tag.
  const tag = `W/"${createHash('sha256').update(compact.text).digest('base64url')}"`;
  const headers = ['ETag', tag, 'Cache-Control', 'no-cache'];
  return { compact, pretty: renderJson(document, true), headers, tag };
}

/** Whether `If-None-Match` contains the tag, by weak comparison, or `*`. RFC 9110, 13.1.2. */
function matchesIfNoneMatch({ request }: Call, tag: string): boolean {
  const given = request.headers['if-none-match'];
  if (given === undefined) return false;
  return given.split(',').some((one) => ['*', tag, tag.slice('W/'.length)].includes(one.trim()));
}
