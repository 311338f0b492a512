/** The input of an API description, apart from the endpoints. */
import type { TSchema } from 'typebox';
import type { Endpoint } from '../endpoint.ts';
import type { Parameter } from '../parameter.ts';

/** The properties that all endpoints of a service share. */
export interface ApiConventions {
  /** Security schemes by name. An endpoint that needs a token accepts any one of them. */
  readonly securitySchemes: Readonly<Record<string, object>>;
  /** The media type of request and response bodies. */
  readonly jsonType: string;
  /** The schema of an error for each media type that a client can request. */
  readonly errorSchemas: Readonly<Record<string, TSchema>>;
  /** The errors of the service. Default: all codes of `ServiceError`. */
  readonly errors?: readonly DescribedError[];
  /** Headers of error responses, in addition to `X-Request-Id` and `Retry-After`, which every service sends. */
  readonly errorHeaders?: readonly Parameter[];
  /** Query parameters, request headers and response headers of an endpoint, in addition to those that it declares. */
  readonly query: (endpoint: Endpoint) => readonly Parameter[];
  readonly headers: (endpoint: Endpoint) => readonly Parameter[];
  readonly answerHeaders: (endpoint: Endpoint) => readonly Parameter[];
}

export interface DescribedError {
  readonly code: string;
  readonly status: number;
  /** One sentence for the API description, without the period. */
  readonly meaning: string;
  /** `writes`: only endpoints that change something. `unmatched`: only requests that no endpoint serves. */
  readonly appliesTo: 'all' | 'writes' | 'unmatched';
}

export interface ApiDescription {
  readonly title: string;
  readonly version: string;
  /** The start of the paths that the description covers. Other endpoints are left out. */
  readonly prefix: string;
  readonly conventions: ApiConventions;
}

export type Json = Readonly<Record<string, unknown>>;
