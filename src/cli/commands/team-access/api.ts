/** Requests to `/api/v2`: JSON:API documents, all pages of lists, and patience with the rate limit. */
import { type Answer, createClient, parseJson } from '../../client/client.ts';
import { API_TOKEN, type ConnectionOptions, resolveConnection } from '../../client/connection.ts';
import { CommandError } from '../../errors.ts';
import type { Shell } from '../../shell.ts';
import { PAGE_SIZE, PAGES_MAX, RATE_PAUSE_MS_MAX, RATE_TRIES_MAX } from './limits.ts';
import { refusalOf } from './refusal.ts';

/** The options that all of these commands have. */
export interface ApiOptions extends ConnectionOptions {
  readonly json?: boolean;
}

/** A thing as the API shows it. */
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

/** A document as the API shows it. */
export interface Document<Data> {
  readonly data: Data;
  readonly included?: readonly Resource[];
  readonly meta?: { readonly pagination?: { readonly 'next-page': number | null } };
}

/** One request. */
export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/api/v2`, as `apiPath` makes it. */
  readonly path: string;
  /** What it is about, for the message when that is not found: `team acme/dev`. */
  readonly about: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Api {
  /** Of the server. */
  readonly address: string;
  /** Any status. @throws CommandError `unreachable` */
  ask(call: ApiCall): Promise<Answer>;
  /** A status below 300. @throws CommandError `unreachable`, `refused` with the server's own words */
  send(call: ApiCall): Promise<Answer>;
  /** As `send`, with the document of the answer, whose shape the API promises. */
  read<Data = Resource>(call: ApiCall): Promise<Document<Data>>;
  /** Likewise, all pages of a list. */
  readAll<Item = Resource>(call: Omit<ApiCall, 'method'>): Promise<Document<readonly Item[]>>;
  /** What to throw for an answer that `ask` gave. */
  refusal(call: ApiCall, answer: Answer): CommandError;
}

const MEDIA_TYPE = 'application/vnd.api+json';

/** The API of the server that the options and the environment name. @throws CommandError `usage` */
export function connectApi(shell: Shell, options: ConnectionOptions): Api {
  const connection = resolveConnection(shell, options, API_TOKEN);
  const signal = shell.interrupted();
  const { token } = connection;
  const client = createClient({ ...connection, token: undefined }, signal);
  const own = { accept: MEDIA_TYPE, ...(token !== undefined && { authorization: `Bearer ${token}` }) };

  const ask = async ({ about: _, path, ...call }: ApiCall): Promise<Answer> => {
    const declared = call.body === undefined && call.method === 'GET' ? {} : { 'content-type': MEDIA_TYPE };
    const headers = { ...own, ...declared, ...call.headers };
    for (let tries = 1; ; tries++) {
      const answer = await client.ask({ ...call, path: `/api/v2${path}`, headers });
      const pauseMs = answer.status === 429 ? Number(answer.headers['retry-after'] ?? 1) * 1_000 : 0;
      if (answer.status !== 429 || tries === RATE_TRIES_MAX || !(pauseMs <= RATE_PAUSE_MS_MAX)) return answer;
      await shell.pause(pauseMs, signal);
    }
  };
  const refusal: Api['refusal'] = (call, answer) => refusalOf(connection, call, answer);
  const send: Api['send'] = async (call) => {
    const answer = await ask(call);
    if (answer.status >= 300) throw refusal(call, answer);
    return answer;
  };
  const read = async <Data>(call: ApiCall): Promise<Document<Data>> =>
    parseJson(connection, (await send(call)).text) as Document<Data>;
  return {
    address: connection.address,
    ask,
    send,
    read,
    refusal,
    async readAll<Item>(call: Omit<ApiCall, 'method'>) {
      const data: Item[] = [];
      const included: Resource[] = [];
      let number: number | null = 1;
      for (let pages = 0; number !== null && pages < PAGES_MAX; pages++) {
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

/**
 * The path of these segments, encoded. What a URL would take for a step up is no name: it would lead elsewhere.
 * @throws CommandError `usage`
 */
export function apiPath(...segments: readonly string[]): string {
  for (const segment of segments) {
    if (segment === '' || segment === '.' || segment === '..') {
      throw new CommandError('usage', `${JSON.stringify(segment)} is no name`);
    }
  }
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');
}

/** The body that makes a thing, or changes it; what is `undefined` is not said. */
export const bodyOf = (
  type: string,
  attributes: Readonly<Record<string, unknown>>,
  relationships?: Readonly<Record<string, { readonly data: Identifier | readonly Identifier[] }>>,
) => ({ data: { type, attributes, relationships } });

/** The id of the one thing that a relationship leads to; empty when it leads nowhere. */
export function relatedId({ relationships }: Pick<Resource, 'relationships'>, name: string): string {
  const data = relationships[name]?.data;
  return data !== undefined && 'id' in data ? data.id : '';
}
