/** What is said of `/v1` besides its endpoints: what they all have in common. */

import { CACHED_HEADERS, READ_HEADERS } from './blocking/read-headers.ts';
import type { Endpoint } from './endpoint.ts';
import type { ApiDescription, Conventions } from './openapi/api-description.ts';
import type { Parameter } from './parameter.ts';
import { errorForms } from './v1/error-answer.ts';
import { CACHED, CONSISTENT, INDEX, PARTITION, PARTITION_HEADER, PRETTY, STALE, WAIT } from './v1/parameters.ts';

const CONVENTIONS: Conventions = {
  securitySchemes: {
    serviceToken: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Service-Token',
      description: 'The secret ID of an ACL token. Without a token the request is made with the anonymous one.',
    },
    bearer: { type: 'http', scheme: 'bearer', description: 'The same; where both are given they must agree.' },
  },
  jsonType: 'application/json',
  errorForms,
  query: (endpoint) => [
    ...(endpoint.open === true ? [] : [PARTITION]),
    ...(endpoint.blocking === true ? [INDEX, WAIT, CONSISTENT, STALE] : []),
    ...(endpoint.cacheable === true ? [CACHED] : []),
    ...(endpoint.answer === undefined || endpoint.answerType !== undefined ? [] : [PRETTY]),
  ],
  headers: ({ open }) => (open === true ? [] : [PARTITION_HEADER]),
  answerHeaders,
};

/** The description of `/v1` by a server of the given version. */
export const v1Api = (version: string): ApiDescription => ({
  title: 'Accord',
  version,
  prefix: '/v1/',
  conventions: CONVENTIONS,
});

function answerHeaders({ blocking, cacheable }: Endpoint): readonly Parameter[] {
  if (blocking !== true) return [];
  return cacheable === true ? [...READ_HEADERS, ...CACHED_HEADERS] : READ_HEADERS;
}
