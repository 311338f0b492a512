/** Requests for configuration entries, and their bodies. */
import assert from 'node:assert/strict';
import type { Api } from '../process/api.ts';
import type { Answer, RequestOptions } from '../process/server.ts';
import type { Fields } from './catalog-requests.ts';

/** The consumers of each service: `{ web: ['east', 'partition:eu'] }` means the peer `east` and the partition `eu`. */
export type Exports = Readonly<Record<string, readonly string[]>>;

/** Creates the body of an `exported-services` entry. */
export const exportEntry = (exports: Exports, more: Fields = {}): Fields => ({
  Kind: 'exported-services',
  Name: 'default',
  Services: Object.entries(exports).map(([Name, consumers]) => ({
    Name,
    Consumers: consumers.map((consumer) => {
      const [to, partition] = consumer.split('partition:');
      return partition === undefined ? { Peer: to } : { Partition: partition };
    }),
  })),
  ...more,
});

/**
 * Creates the body of a `service-intentions` entry. A source is `allow web`, `deny *`, `allow web@east` (of a peer) or
 * `allow web/eu` (of a partition).
 */
export const intentionEntry = (Name: string, sources: readonly string[], more: Fields = {}): Fields => ({
  Kind: 'service-intentions',
  Name,
  Sources: sources.map((text) => {
    const [, Action, name, Peer, Partition] = /^(\S+) ([^@/]+)(?:@([^/]+))?(?:\/(.+))?$/.exec(text) ?? [];
    return { Name: name, Action, ...(Peer && { Peer }), ...(Partition && { Partition }) };
  }),
  ...more,
});

/** Requests to write an entry. */
export const requestWrite = (api: Api, entry: Fields, query = '', options?: RequestOptions): Promise<Answer> =>
  api.request('PUT', `/v1/config${query}`, { ...options, body: entry });

/** Writes an entry. Fails the test unless the server accepts it. */
export async function mustWrite(api: Api, entry: Fields, query?: string): Promise<Answer> {
  const answer = await requestWrite(api, entry, query);
  assert.deepEqual([answer.status, answer.text], [200, 'true']);
  return answer;
}

/** Returns the header `X-Service-Warning` of an answer. */
export const warningOf = (answer: Answer): string | undefined =>
  answer.headers['x-service-warning'] as string | undefined;
