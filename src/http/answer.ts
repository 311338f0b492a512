/** HTTP responses as values. */

export interface Answer {
  readonly status: number;
  /** `undefined` if the body is empty. */
  readonly contentType?: string;
  readonly body: string | Buffer;
  /** Length of the body in bytes, if it is already known. */
  readonly bytes?: number;
  /** Alternating names and values in one array, the form that Node writes fastest. */
  readonly headers?: readonly string[] | undefined;
  /** Whether the request waited as a blocking query. Its duration is then left out of the metrics. */
  readonly waited?: true | undefined;
}

export const emptyAnswer: Answer = { status: 200, body: '' };

export const textAnswer = (status: number, text: string, headers: readonly string[] = []): Answer => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body: text,
  headers,
});
