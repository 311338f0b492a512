/** How `/v1` tells results: compact JSON, indented by four for `?pretty`, gzip where it is accepted and worth it. */
import { promisify } from 'node:util';
import { constants, gzip, gzipSync } from 'node:zlib';
import { acceptsGzip } from '../accept.ts';
import type { Answer } from '../answer.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import {
  ANSWER_CHARACTERS_MAX,
  GZIP_BYTES_INLINE_MAX,
  GZIP_BYTES_MIN,
  GZIP_PARALLEL_MAX,
  PRETTY_CHARACTERS_MAX,
} from '../limits.ts';
import { PRETTY } from './parameters.ts';

const gzipInPool = promisify(gzip);
const FAST = { level: constants.Z_BEST_SPEED };

/** JSON that is text already; given as a value it is sent as it is. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A result ready to be sent, to one or to many. */
export interface Rendered {
  readonly text: string;
  readonly bytes: number;
  /** Made when the first client that accepts it comes. */
  zipped?: Buffer | Promise<Buffer>;
}

/** What a rendered result takes while it is kept: text that is not ASCII takes two bytes a character; compressed, likewise. */
export const bytesHeld = ({ text, bytes }: Rendered): number => (text.length === bytes ? 1 : 2) * text.length + bytes;

/** What an answer has besides its body. */
export type AnswerFrame = Pick<Answer, 'headers' | 'held'> & { readonly status?: number };

/** Compressions under way: the thread pool, and zlib's memory, are the process's. */
let zipping = 0;

/** Makes the text of a JSON value. @throws ServiceError `bad-request` when it is longer than an answer may be */
export function render(value: unknown, pretty: boolean): Rendered {
  const text = pretty ? prettyText(value) : compactText(value);
  return { text, bytes: Buffer.byteLength(text) };
}

/**
 * A list of what is written one by one, and no further than an answer may be long.
 * @param narrower how to ask for less of it, in words that follow a colon
 * @throws ServiceError `bad-request`
 */
export function jsonList<Item>(
  items: readonly Item[],
  textOf: (item: Item) => string,
  narrower = 'ask for less of it',
): JsonText {
  const texts: string[] = [];
  let characters = 2;
  for (const item of items) {
    const text = textOf(item);
    characters += text.length + 1;
    if (characters > ANSWER_CHARACTERS_MAX) throw tooLong(ANSWER_CHARACTERS_MAX, narrower);
    texts.push(text);
  }
  return new JsonText(`[${texts.join(',')}]`);
}

const tooLong = (charactersMax: number, narrower: string): ServiceError =>
  new ServiceError('bad-request', `The answer would be longer than ${charactersMax} characters: ${narrower}`);

function compactText(value: unknown): string {
  if (value instanceof JsonText) return value.text;
  return Array.isArray(value) ? jsonList(value, (item) => JSON.stringify(item)).text : JSON.stringify(value);
}

/** An answer with a JSON value, in the form that the client asked for. */
export function jsonAnswer(call: Call, value: unknown, frame: AnswerFrame = {}): Answer | Promise<Answer> {
  return renderedAnswer(call, render(value, call.query.has(PRETTY.name)), frame);
}

/** An answer with what was rendered, compressed where the client accepts that and it is worth it. */
export function renderedAnswer(call: Call, rendered: Rendered, frame: AnswerFrame): Answer | Promise<Answer> {
  const { text, bytes } = rendered;
  const { status = 200, headers: own, held } = frame;
  // Written out: a spread here would cost as much as the rest of the answer.
  const plain: Answer = { status, contentType: 'application/json', body: text, bytes, headers: own, held };
  if (bytes < GZIP_BYTES_MIN) return plain;
  const headers = [...(own ?? []), 'Vary', 'Accept-Encoding'];
  const zipped = acceptsGzip(call.request.headers['accept-encoding']) ? compress(rendered) : undefined;
  if (zipped === undefined) return { ...plain, headers };
  const answer = (body: Buffer): Answer => ({
    ...plain,
    body,
    bytes: body.length,
    headers: [...headers, 'Content-Encoding', 'gzip'],
  });
  return zipped instanceof Promise ? zipped.then(answer) : answer(zipped);
}

function prettyText(value: unknown): string {
  const text = compactText(value);
  if (text.length > PRETTY_CHARACTERS_MAX)
    throw tooLong(PRETTY_CHARACTERS_MAX, `ask for less of it, or without ${PRETTY.name}`);
  const plain: unknown = value instanceof JsonText ? JSON.parse(text) : value;
  return `${JSON.stringify(plain, null, 4)}\n`;
}

/** The compressed body, or `undefined` when too many are being compressed already. */
function compress(rendered: Rendered): Buffer | Promise<Buffer> | undefined {
  if (rendered.zipped !== undefined) return rendered.zipped;
  if (rendered.bytes <= GZIP_BYTES_INLINE_MAX) {
    rendered.zipped = gzipSync(rendered.text, FAST);
  } else if (zipping < GZIP_PARALLEL_MAX) {
    zipping += 1;
    rendered.zipped = gzipInPool(rendered.text, FAST).finally(() => {
      zipping -= 1;
    });
  }
  return rendered.zipped;
}
