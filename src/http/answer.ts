/** Answers as values. */

export interface Answer {
  readonly status: number;
  /** None for an empty body. */
  readonly contentType?: string;
  readonly body: string | Buffer;
  /** Length of the body, where it is known already. */
  readonly bytes?: number;
  /** Flat: name, value, name, value. Node writes such a list as it is, without looking anything up. */
  readonly headers?: readonly string[] | undefined;
  /** It was held back on purpose, so its duration says nothing about the server. */
  readonly held?: true | undefined;
}

/** 200 without a body. */
export const emptyAnswer: Answer = { status: 200, body: '' };

/** A line of text. */
export const textAnswer = (status: number, text: string, headers: readonly string[] = []): Answer => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body: text,
  headers,
});
