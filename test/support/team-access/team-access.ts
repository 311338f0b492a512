/** Requests to team access as its clients make them, and the things that its tests need. */
import type { Api } from '../process/api.ts';
import type { Answer } from '../process/server.ts';

export const MEDIA_TYPE = 'application/vnd.api+json';

/** A resource as answers show it. */
export interface Shown {
  readonly id: string;
  readonly type: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships: Readonly<Record<string, { readonly data: unknown }>>;
}

/** A document as answers show it. */
export interface ShownDocument<Data = Shown> {
  readonly data: Data;
  readonly included?: readonly Shown[];
  readonly links?: Readonly<Record<string, string | null>>;
  readonly meta?: { readonly pagination: Readonly<Record<string, number | null>> };
}

export interface TeamAccessRequest {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request below `/api/v2` with a user's, a team's or an organization's token; `null`: with none. */
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

/** The document of an answer. @throws Error unless the status is one of success */
export function shown<Data = Shown>(answer: Answer): ShownDocument<Data> {
  if (answer.status < 200 || answer.status > 299) throw new Error(`${answer.status} ${answer.text}`);
  return answer.json<ShownDocument<Data>>();
}

/** A body with one resource. */
export const resource = (
  type: string,
  attributes: Readonly<Record<string, unknown>>,
  relationships?: Readonly<Record<string, unknown>>,
) => ({ data: { type, attributes, ...(relationships !== undefined && { relationships }) } });

/** A relationship to one resource. */
export const to = (type: string, id: string) => ({ data: { type, id } });

/** The first fault of an answer. */
export const faults = (answer: Answer): readonly Readonly<Record<string, unknown>>[] =>
  answer.json<{ errors: Readonly<Record<string, unknown>>[] }>().errors;

/** What `faults` of a refusal for what is not there, or may not be known, must be. */
export const NOT_FOUND = [404, '{"errors":[{"status":"404","title":"not found"}]}'] as const;

/** Status and text of an answer. */
export const seen = ({ status, text }: Answer): readonly [number, string] => [status, text];

/** Makes an organization as the holder of `token`. */
export async function makeOrganization(api: Api, token: string, name: string): Promise<Shown> {
  const attributes = { name, email: `${name}@example.org` };
  return shown(await request(api, token, 'POST', '/organizations', { body: resource('organizations', attributes) }))
    .data;
}
