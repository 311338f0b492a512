/** Sends requests to team access, builds their bodies and reads their responses. */
import type { Api } from '../process/api.ts';
import type { Answer } from '../process/server.ts';

export const MEDIA_TYPE = 'application/vnd.api+json';

/** A resource object of JSON:API in a response. */
export interface ResourceObject {
  readonly id: string;
  readonly type: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships: Readonly<Record<string, { readonly data: unknown }>>;
}

/** A JSON:API document of a response. */
export interface JsonApiDocument<Data = ResourceObject> {
  readonly data: Data;
  readonly included?: readonly ResourceObject[];
  readonly links?: Readonly<Record<string, string | null>>;
  readonly meta?: { readonly pagination: Readonly<Record<string, number | null>> };
}

export interface TeamAccessRequest {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request to a path below `/api/v2`. `token` is that of a user, team or organization, or null for none. */
export const request = (
  api: Api,
  token: string | null,
  method: string,
  path: string,
  { body, headers = {} }: TeamAccessRequest = {},
): Promise<Answer> =>
  api.request(method, `/api/v2${path}`, {
    body,
    token: null,
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(method !== 'GET' && { 'content-type': MEDIA_TYPE }),
      ...headers,
    },
  });

/** Returns the document of a response. @throws Error if the status is not 2xx */
export function documentOf<Data = ResourceObject>(answer: Answer): JsonApiDocument<Data> {
  if (answer.status < 200 || answer.status > 299) throw new Error(`${answer.status} ${answer.text}`);
  return answer.json<JsonApiDocument<Data>>();
}

/** Returns a body with one resource. */
export const resource = (
  type: string,
  attributes: Readonly<Record<string, unknown>>,
  relationships?: Readonly<Record<string, unknown>>,
) => ({ data: { type, attributes, ...(relationships !== undefined && { relationships }) } });

/** Returns a to-one relationship. */
export const toOne = (type: string, id: string) => ({ data: { type, id } });

export const errorsOf = (answer: Answer): readonly Readonly<Record<string, unknown>>[] =>
  answer.json<{ errors: Readonly<Record<string, unknown>>[] }>().errors;

/** The `statusAndText` of a response about a missing or hidden resource [TEAM-34]. */
export const NOT_FOUND = [404, '{"errors":[{"status":"404","title":"not found"}]}'] as const;

export const statusAndText = ({ status, text }: Answer): readonly [number, string] => [status, text];

/** Creates an organization as the user with `token`. */
export async function makeOrganization(api: Api, token: string, name: string): Promise<ResourceObject> {
  const attributes = { name, email: `${name}@example.org` };
  return documentOf(
    await request(api, token, 'POST', '/organizations', { body: resource('organizations', attributes) }),
  ).data;
}
