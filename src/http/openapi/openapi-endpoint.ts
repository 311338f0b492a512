/** Serves the description of an API. */
import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import type { Call } from '../call.ts';
import type { Endpoint, OpenEndpoint } from '../endpoint.ts';
import { type Rendered, render, renderedAnswer } from '../v1/json-answer.ts';
import { PRETTY } from '../v1/parameters.ts';
import type { ApiDescription } from './api-description.ts';
import { describeApi } from './openapi.ts';

const answerSchema = Type.Object({}, { additionalProperties: true, description: 'An OpenAPI 3.1 document.' });

/** What is served: made once, and compressed once. */
interface Served {
  readonly compact: Rendered;
  readonly pretty: Rendered;
  readonly headers: readonly string[];
  readonly tag: string;
}

/**
 * `GET …/openapi.json` below the API's prefix. Open to anybody: it says nothing about the state.
 * @param endpoints all of the server's; those that are added before the first request are described, this one included
 */
export function openApiEndpoint(endpoints: readonly Endpoint[], api: ApiDescription): OpenEndpoint {
  let served: Served | undefined;
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
      served ??= serve(describeApi(endpoints, api));
      const { compact, pretty, headers, tag } = served;
      if (hasAlready(call, tag)) return { status: 304, body: '', headers };
      return renderedAnswer(call, call.query.has(PRETTY.name) ? pretty : compact, { headers });
    },
  };
}

function serve(document: object): Served {
  const compact = render(document, false);
  // Weak: indented or compressed it is the same document.
  const tag = `W/"${createHash('sha256').update(compact.text).digest('base64url')}"`;
  const headers = ['ETag', tag, 'Cache-Control', 'no-cache'];
  return { compact, pretty: render(document, true), headers, tag };
}

/** RFC 9110, 13.1.2: by weak comparison, or `*` for any. */
function hasAlready({ request }: Call, tag: string): boolean {
  const given = request.headers['if-none-match'];
  if (given === undefined) return false;
  return given.split(',').some((one) => ['*', tag, tag.slice('W/'.length)].includes(one.trim()));
}
