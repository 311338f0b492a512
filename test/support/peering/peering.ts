/** What tests of peerings do again and again, over the API. */
import assert from 'node:assert/strict';
import type { ShownPeering } from '../../../src/peering/record/record-to-json.ts';
import type { PeeringToken } from '../../../src/peering/token/token.ts';
import type { Api } from '../process/api.ts';
import type { Answer, RequestOptions } from '../process/server.ts';

/** Fields of a body besides the name. */
type Fields = Readonly<Record<string, unknown>>;

/** Asks for a token. */
export const generate = (api: Api, name: string, fields: Fields = {}, options?: RequestOptions): Promise<Answer> =>
  api.request('POST', '/v1/peering/token', { ...options, body: { PeerName: name, ...fields } });

/** Presents a token. */
export const present = (
  api: Api,
  name: string,
  token: string,
  fields: Fields = {},
  options?: RequestOptions,
): Promise<Answer> =>
  api.request('POST', '/v1/peering/establish', {
    ...options,
    body: { PeerName: name, PeeringToken: token, ...fields },
  });

/** Makes a token that must be made. */
export async function generated(api: Api, name: string, fields?: Fields): Promise<string> {
  const answer = await generate(api, name, fields);
  assert.equal(answer.status, 200, answer.text);
  return answer.json<{ PeeringToken: string }>().PeeringToken;
}

/** Makes `accepting` and `dialing` peers of each other: there it is `name`, here `peer`. */
export async function peer(accepting: Api, name: string, dialing: Api, peerName: string): Promise<void> {
  const answer = await present(dialing, peerName, await generated(accepting, name));
  assert.deepEqual([answer.status, answer.text], [200, '{}']);
}

/** The record, which must be there. */
export async function record(api: Api, name: string, query = ''): Promise<ShownPeering> {
  const answer = await api.request('GET', `/v1/peering/${name}${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json<ShownPeering>();
}

/** What stands in a token. */
export const opened = (token: string): PeeringToken =>
  JSON.parse(Buffer.from(token, 'base64').toString()) as PeeringToken;

/** A token with something else in it. */
export const closed = (content: unknown): string => Buffer.from(JSON.stringify(content)).toString('base64');

/** The index that an answer tells to wait from. */
export const indexOf = (answer: Answer): number => Number(answer.headers['x-service-index']);

/** The parts of an answer that a client sees, for comparing. */
export const seen = ({ status, text }: Answer): readonly [status: number, text: string] => [status, text];
