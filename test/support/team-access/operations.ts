/** Requests to `/operations`, and what they answer. */
import type { Api } from '../process/api.ts';
import type { Answer } from '../process/server.ts';
import { request, type Shown } from './team-access.ts';

export const OPERATIONS_TYPE = 'application/vnd.api+json;ext="https://jsonapi.org/ext/atomic"';

export interface OperationResult {
  readonly data?: Shown;
  readonly meta?: { readonly before: Shown };
}

/** Asks for operations, all or nothing. */
export const operate = (
  api: Api,
  token: string | null,
  operations: readonly unknown[],
  { query = '', headers = {} }: { readonly query?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Answer> =>
  request(api, token, 'POST', `/operations${query}`, {
    body: { 'atomic:operations': operations },
    headers: { 'content-type': OPERATIONS_TYPE, ...headers },
  });

/** What they came to. @throws Error when they were refused */
export function resultsOf(answer: Answer): readonly OperationResult[] {
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  return answer.json<{ 'atomic:results': OperationResult[] }>()['atomic:results'];
}

/** The status of a refusal, and where in the body each of its faults is. */
export const refused = (answer: Answer): readonly [number, ...(string | undefined)[]] => [
  answer.status,
  ...answer.json<{ errors: { source?: { pointer?: string } }[] }>().errors.map(({ source }) => source?.pointer),
];
