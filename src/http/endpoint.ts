/** Endpoints as data: what tests must cover, what the API description is made from, and what the server routes to. */
import type { TSchema } from 'typebox';
import type { Answer } from './answer.ts';
import type { Call } from './call.ts';
import type { Parameter } from './parameter.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Endpoint {
  readonly method: Method;
  /** Segments and `:name` parameters: `/v1/acl/token/:accessor`. */
  readonly path: string;
  /** One sentence for the API description. */
  readonly summary: string;
  /** Answers anybody: it needs no authorization test. */
  readonly open?: true;
  /** Takes bodies up to `limits.bulk-body` instead of `limits.body`. */
  readonly bulk?: true;
  /** Takes `index` and `wait`. */
  readonly blocking?: true;
  /** Takes `cached`. */
  readonly cacheable?: true;
  /** Answers 304 to who has the answer already. */
  readonly conditional?: true;
  /** Never succeeds. */
  readonly refused?: true;
  /** Query parameters besides those of all endpoints of its service; of the same name, instead of those. */
  readonly query?: readonly Parameter[];
  /** Headers likewise. */
  readonly headers?: readonly Parameter[];
  /** What its body must be, for the API description; the handler parses with the same schema. */
  readonly body?: TSchema;
  /** The media type of that where it is not the one of its service. */
  readonly bodyType?: string;
  /** The status of its success; 200 unless given. */
  readonly status?: 200 | 201 | 204;
  /** What it answers with; without it the answer is empty. */
  readonly answer?: TSchema;
  /** The media type of that where it is not the one of its service. */
  readonly answerType?: string;
  /** Headers of its answer besides those of all endpoints of its service. */
  readonly answerHeaders?: readonly Parameter[];
  /**
   * Answers, or throws a ServiceError. Works out who calls by itself: callers are not known here.
   * @returns the answer; `undefined` when it is sent later, by whatever was given the call
   */
  readonly handle: (call: Call) => Answer | undefined | Promise<Answer>;
}

/** An endpoint for anybody, which sends nothing later. */
export interface OpenEndpoint extends Endpoint {
  readonly open: true;
  readonly handle: (call: Call) => Answer | Promise<Answer>;
}

/** The methods of the endpoints at a concrete path, as `Allow` lists them; `undefined` when there is none. */
export function allowedMethods(endpoints: readonly Endpoint[], path: string): string | undefined {
  const methods = new Set<string>();
  for (const endpoint of endpoints) if (matches(endpoint.path, path)) methods.add(endpoint.method);
  if (methods.size === 0) return undefined;
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods, 'OPTIONS'].join(', ');
}

/** Slow and simple: only asked for requests that no endpoint took. */
function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length &&
    wanted.every((segment, i) => (segment.startsWith(':') ? given[i] !== '' : segment === given[i]))
  );
}
