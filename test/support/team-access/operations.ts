/** Sends requests to `/operations` and reads their responses. */
import type { Api } from '../process/api.ts';
import type { Answer } from '../process/server.ts';
import { type ResourceObject, request } from './team-access.ts';

export const OPERATIONS_TYPE = 'application/vnd.api+json;ext="https://jsonapi.org/ext/atomic"';

export interface OperationResult {
  readonly data?: ResourceObject;
  readonly meta?: { readonly before: ResourceObject };
}

/** Sends one request with all operations. */
export const sendOperations = (
  api: Api,
  token: string | null,
  operations: readonly unknown[],
  { query = '', headers = {} }: { readonly query?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Answer> =>
  request(api, token, 'POST', `/operations${query}`, {
    body: { 'atomic:operations': operations },
    headers: { 'content-type': OPERATIONS_TYPE, ...headers },
  });

/** Returns the results of the operations. @throws Error if the status is not 200 */
export function resultsOf(answer: Answer): readonly OperationResult[] {
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  return answer.json<{ 'atomic:results': OperationResult[] }>()['atomic:results'];
}

/** Returns the status and the JSON pointer of each error. */
export const rejection = (answer: Answer): readonly [number, ...(string | undefined)[]] => [
  answer.status,
  ...answer.json<{ errors: { source?: { pointer?: string } }[] }>().errors.map(({ source }) => source?.pointer),
];
