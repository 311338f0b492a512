/** What tests of configuration entries do again and again, over the API. */
import assert from 'node:assert/strict';
import type { Api } from '../process/api.ts';
import type { Answer, RequestOptions } from '../process/server.ts';
import type { Fields } from './catalog.ts';

/** An export line: `{ web: ['east', 'partition:eu'] }` gives `web` to the peer `east` and the partition `eu`. */
export type Exports = Readonly<Record<string, readonly string[]>>;

/** The body of an entry that exports so. */
export const exporting = (exports: Exports, more: Fields = {}): Fields => ({
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
 * The body of an entry for a destination, its sources as `allow web`, `deny *`, `allow web@east` (of that peer) or
 * `allow web/eu` (of that partition).
 */
export const intending = (Name: string, sources: readonly string[], more: Fields = {}): Fields => ({
  Kind: 'service-intentions',
  Name,
  Sources: sources.map((text) => {
    const [, Action, name, Peer, Partition] = /^(\S+) ([^@/]+)(?:@([^/]+))?(?:\/(.+))?$/.exec(text) ?? [];
    return { Name: name, Action, ...(Peer && { Peer }), ...(Partition && { Partition }) };
  }),
  ...more,
});

/** Writes an entry. */
export const write = (api: Api, entry: Fields, query = '', options?: RequestOptions): Promise<Answer> =>
  api.request('PUT', `/v1/config${query}`, { ...options, body: entry });

/** Writes an entry that must be taken. */
export async function written(api: Api, entry: Fields, query?: string): Promise<Answer> {
  const answer = await write(api, entry, query);
  assert.deepEqual([answer.status, answer.text], [200, 'true']);
  return answer;
}

/** The header in which a write says what may not have been meant. */
export const warningOf = (answer: Answer): string | undefined =>
  answer.headers['x-service-warning'] as string | undefined;
