/** Client of `/api/v2`: JSON:API documents, pagination, and retries after the rate limit. */

import { CommandError } from '../errors.ts';
import { PAGE_SIZE, PAGES_MAX, RATE_LIMIT_ATTEMPTS_MAX, RETRY_AFTER_MS_MAX } from '../limits.ts';
import type { Shell } from '../shell.ts';
import { apiResponseError } from './api-error.ts';
import { type ClientResponse, createClient, parseJson } from './client.ts';
import { API_TOKEN, type ConnectionOptions, resolveConnection } from './connection.ts';

export interface ApiOptions extends ConnectionOptions {
  readonly json?: boolean;
}

export interface Resource<Attributes = Readonly<Record<string, unknown>>> {
  readonly id: string;
  readonly type: string;
  readonly attributes: Attributes;
  readonly relationships: Readonly<Record<string, { readonly data: Identifier | readonly Identifier[] } | undefined>>;
}

interface Identifier {
  readonly id: string;
  readonly type: string;
}

export interface Document<Data> {
  readonly data: Data;
  readonly included?: readonly Resource[];
  readonly meta?: { readonly pagination?: { readonly 'next-page': number | null } };
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to `/api/v2`, built by `apiPath`. */
  readonly path: string;
  /** The requested resource, such as `team acme/dev`, for the message of a 404. */
  readonly subject: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiClient {
  readonly address: string;
  /** Sends a request and returns a response with any status. @throws CommandError `unreachable` */
  request(call: ApiRequest): Promise<ClientResponse>;
  /** Sends a request. @throws CommandError `unreachable`; `failed` with the server's message for a status from 300 */
  send(call: ApiRequest): Promise<ClientResponse>;
  /** Like `send`, and parses the document. The shape is not checked. */
  read<Data = Resource>(call: ApiRequest): Promise<Document<Data>>;
  /** Reads all pages of a list. */
  readAll<Item = Resource>(call: Omit<ApiRequest, 'method'>): Promise<Document<readonly Item[]>>;
  /** Creates the error for a response of `request`. */
  errorOf(call: ApiRequest, response: ClientResponse): CommandError;
}

const MEDIA_TYPE = 'application/vnd.api+json';

/** Creates an API client for the server named by the options and the environment. @throws CommandError `usage` */
export function connectApi(shell: Shell, options: ConnectionOptions): ApiClient {
  const connection = resolveConnection(shell, options, API_TOKEN);
  const signal = shell.interruptSignal();
  const { token } = connection;
  const client = createClient({ ...connection, token: undefined }, signal);
  const ownHeaders = { accept: MEDIA_TYPE, ...(token !== undefined && { authorization: `Bearer ${token}` }) };

  const request = async ({ subject: _, path, ...call }: ApiRequest): Promise<ClientResponse> => {
    const contentType = call.body === undefined && call.method === 'GET' ? {} : { 'content-type': MEDIA_TYPE };
    const headers = { ...ownHeaders, ...contentType, ...call.headers };
    for (let attempt = 1; ; attempt++) {
      const response = await client.request({ ...call, path: `/api/v2${path}`, headers });
      const pauseMs = response.status === 429 ? Number(response.headers['retry-after'] ?? 1) * 1_000 : 0;
      if (response.status !== 429 || attempt === RATE_LIMIT_ATTEMPTS_MAX || !(pauseMs <= RETRY_AFTER_MS_MAX))
        return response;
      await shell.pause(pauseMs, signal);
    }
  };
  const errorOf: ApiClient['errorOf'] = (call, response) => apiResponseError(connection, call, response);
  const send: ApiClient['send'] = async (call) => {
    const response = await request(call);
    if (response.status >= 300) throw errorOf(call, response);
    return response;
  };
  const read = async <Data>(call: ApiRequest): Promise<Document<Data>> =>
    parseJson(connection, (await send(call)).text) as Document<Data>;
  return {
    address: connection.address,
    request,
    send,
    read,
    errorOf,
    async readAll<Item>(call: Omit<ApiRequest, 'method'>) {
      const data: Item[] = [];
      const included: Resource[] = [];
      let number: number | null = 1;
      for (let pages = 0; number !== null; pages++) {
        if (pages === PAGES_MAX)
          throw new CommandError('failed', `${call.subject}: the list has more than ${PAGES_MAX} pages`);
        const query = { ...call.query, 'page[size]': PAGE_SIZE, 'page[number]': number };
        const page: Document<readonly Item[]> = await read({ ...call, method: 'GET', query });
        data.push(...page.data);
        included.push(...(page.included ?? []));
        number = page.meta?.pagination?.['next-page'] ?? null;
      }
      return { data, included };
    },
  };
}

/** Encodes path segments. Rejects `.` and `..`, which would change the path. @throws CommandError `usage` */
export function apiPath(...segments: readonly string[]): string {
  for (const segment of segments) {
    if (segment === '' || segment === '.' || segment === '..') {
      throw new CommandError('usage', `${JSON.stringify(segment)} is not a valid name`);
    }
  }
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');
}

/** Builds the document that creates or updates a resource. Attributes that are `undefined` are omitted. */
export const requestBody = (
  type: string,
  attributes: Readonly<Record<string, unknown>>,
  relationships?: Readonly<Record<string, { readonly data: Identifier | readonly Identifier[] }>>,
) => ({ data: { type, attributes, relationships } });

/** Returns the ID of the resource in a to-one relationship, or an empty string. */
export function relatedId({ relationships }: Pick<Resource, 'relationships'>, name: string): string {
  const data = relationships[name]?.data;
  return data !== undefined && 'id' in data ? data.id : '';
}
