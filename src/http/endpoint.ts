/** Endpoints declared as data, for the router, the API description, and the tests that must cover every endpoint. */
import type { TSchema } from 'typebox';
import type { Answer, Call } from './call.ts';
import type { Parameter } from './parameter.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Endpoint {
  readonly method: Method;
  /** Segments and `:name` parameters: `/v1/acl/token/:accessor`. */
  readonly path: string;
  /** One sentence for the API description. */
  readonly summary: string;
  /** Whether the endpoint needs no token, and therefore no authorization test. */
  readonly open?: true;
  /** Whether bodies may have up to `limits.bulk-body` bytes instead of `limits.body`. */
  readonly bulk?: true;
  /** Whether the endpoint supports `index` and `wait`. */
  readonly blocking?: true;
  /** Whether the endpoint supports `cached`. */
  readonly cacheable?: true;
  /** Whether the endpoint supports `If-None-Match` and returns 304. */
  readonly conditional?: true;
  /** Whether every request to the endpoint fails, because Accord does not support the operation. */
  readonly unsupported?: true;
  /** Query parameters and headers of this endpoint. They override parameters of the service with the same name. */
  readonly query?: readonly Parameter[];
  readonly headers?: readonly Parameter[];
  /** The schema of the body, for the API description. The handler parses with the same schema. */
  readonly body?: TSchema;
  /** The media type of the body, if it is not that of the service. */
  readonly bodyType?: string;
  /** The status of a successful response. Default: 200. */
  readonly status?: 200 | 201 | 204;
  /** The schema of the response body. Without it the response is empty. */
  readonly answer?: TSchema;
  /** The media type of the response, if it is not that of the service. */
  readonly answerType?: string;
  /** Response headers in addition to those of the service. */
  readonly answerHeaders?: readonly Parameter[];
  /**
   * Returns the response, or throws a ServiceError. Authenticates the caller itself.
   * @returns `undefined` if the handler passed the call to code that sends the response later
   */
  readonly handle: (call: Call) => Answer | undefined | Promise<Answer>;
}

/** An endpoint that needs no token and returns its response itself. */
export interface OpenEndpoint extends Endpoint {
  readonly open: true;
  readonly handle: (call: Call) => Answer | Promise<Answer>;
}

/** Returns the value of `Allow` for a concrete path, or `undefined` if no endpoint has it. */
export function allowedMethods(endpoints: readonly Endpoint[], path: string): string | undefined {
  const methods = new Set<string>();
  for (const endpoint of endpoints) if (matchesPath(endpoint.path, path)) methods.add(endpoint.method);
  if (methods.size === 0) return undefined;
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods, 'OPTIONS'].join(', ');
}

/** Whether a path matches a pattern, segment by segment. Slow, but used only for requests that no endpoint serves. */
export function matchesPath(pattern: string, path: string): boolean {
  const expected = pattern.split('/');
  const given = path.split('/');
  return (
    expected.length === given.length &&
    expected.every((segment, i) => (segment.startsWith(':') ? given[i] !== '' : segment === given[i]))
  );
}
