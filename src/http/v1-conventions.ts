/** The API description of `/v1`, apart from its endpoints: the parameters, headers, and errors that they share. */
import { CACHED_HEADERS, READ_HEADERS } from './blocking/read-protocol.ts';
import type { Endpoint } from './endpoint.ts';
import type { ApiConventions, ApiDescription } from './openapi/api-description.ts';
import type { Parameter } from './parameter.ts';
import { errorSchemas } from './v1/error-answer.ts';
import { CACHED, CONSISTENT, INDEX, PARTITION, PARTITION_HEADER, PRETTY, STALE, WAIT } from './v1/parameters.ts';

const CONVENTIONS: ApiConventions = {
  securitySchemes: {
    serviceToken: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Service-Token',
      description: 'The secret ID of an ACL token. A request without a token uses the anonymous token.',
    },
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'The secret ID of an ACL token. If X-Service-Token is also given, both must be equal.',
    },
  },
  jsonType: 'application/json',
  errorSchemas,
  query: (endpoint) => [
    ...(endpoint.open === true ? [] : [PARTITION]),
    ...(endpoint.blocking === true ? [INDEX, WAIT, CONSISTENT, STALE] : []),
    ...(endpoint.cacheable === true ? [CACHED] : []),
    ...(endpoint.answer === undefined || endpoint.answerType !== undefined ? [] : [PRETTY]),
  ],
  headers: ({ open }) => (open === true ? [] : [PARTITION_HEADER]),
  answerHeaders,
};

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
