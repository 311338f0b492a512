/** Peering requests to an API. A function named `must…` fails the test unless the request succeeds. */
import assert from 'node:assert/strict';
import type { PeeringJson } from '../../../src/peering/record/record-to-json.ts';
import type { PeeringToken } from '../../../src/peering/token/token.ts';
import type { Api } from '../process/api.ts';
import type { Answer, RequestOptions } from '../process/server.ts';

/** The fields of a body besides the name. */
type Fields = Readonly<Record<string, unknown>>;

/** Requests a peering token. */
export const requestToken = (api: Api, name: string, fields: Fields = {}, options?: RequestOptions): Promise<Answer> =>
  api.request('POST', '/v1/peering/token', { ...options, body: { PeerName: name, ...fields } });

/** Requests to establish a peering. */
export const requestEstablish = (
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

/** Generates a peering token. */
export async function mustGenerate(api: Api, name: string, fields?: Fields): Promise<string> {
  const answer = await requestToken(api, name, fields);
  assert.equal(answer.status, 200, answer.text);
  return answer.json<{ PeeringToken: string }>().PeeringToken;
}

/** Peers two clusters: `accepting` knows the other as `name`, and `dialing` as `peerName`. */
export async function mustPeer(accepting: Api, name: string, dialing: Api, peerName: string): Promise<void> {
  const answer = await requestEstablish(dialing, peerName, await mustGenerate(accepting, name));
  assert.deepEqual([answer.status, answer.text], [200, '{}']);
}

/** Reads a record. */
export async function mustReadRecord(api: Api, name: string, query = ''): Promise<PeeringJson> {
  const answer = await api.request('GET', `/v1/peering/${name}${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json<PeeringJson>();
}

/** Returns the content of a token. */
export const tokenContent = (token: string): PeeringToken =>
  JSON.parse(Buffer.from(token, 'base64').toString()) as PeeringToken;

/** Encodes any content as a token. */
export const encodeContent = (content: unknown): string => Buffer.from(JSON.stringify(content)).toString('base64');

/** Fields of a token with any values. */
export type TokenEdits = Readonly<Partial<Record<keyof PeeringToken, unknown>>>;

/** Replaces fields of a token. */
export const editedToken = (token: string, fields: TokenEdits): string =>
  encodeContent({ ...tokenContent(token), ...fields });

/** Replaces a token's addresses with that of a loopback proxy. The dialing side does not replace manual addresses. */
export const tokenForProxy = (token: string, { port }: { readonly port: number }): string =>
  editedToken(token, { ManualServerAddresses: [`127.0.0.1:${port}`], ServerAddresses: [] });

/** Returns the `X-Service-Index` of an answer. */
export const indexOfAnswer = (answer: Answer): number => Number(answer.headers['x-service-index']);

/** Returns the status and the body of an answer, for comparison. */
export const statusAndText = ({ status, text }: Answer): readonly [status: number, text: string] => [status, text];
