/**
 * JSON responses of `/v1`: compact, indented by 4 spaces with `?pretty`, and compressed with gzip if that is worth it.
 */
import { promisify } from 'node:util';
import { constants, gzip, gzipSync } from 'node:zlib';
import { runAtOnce, type Steps, visitInSlices } from '../../state/clock/slices.ts';
import { acceptsGzip } from '../accept.ts';
import { answerLimits } from '../answer-limits.ts';
import type { Answer, Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { indentInSlices } from '../json/indent-json.ts';
import { GZIP_BYTES_INLINE_MAX, GZIP_BYTES_MIN, GZIP_PARALLEL_MAX, JSON_PIECE_BYTES } from '../limits.ts';
import { endOfPiece } from '../send-body.ts';
import { PRETTY } from './parameters.ts';

const gzipAsync = promisify(gzip);
const FAST = { level: constants.Z_BEST_SPEED };

/** Text that is already JSON. As a value, it is sent unchanged. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A response body, which several requests may share. */
export interface RenderedJson {
  readonly text: string;
  readonly bytes: number;
  /** Created for the first client that accepts gzip. */
  gzipped?: Buffer | Promise<Buffer>;
}

/** Returns the memory that a cached body takes: its text, and at most as many bytes for the compressed form. */
export const memoryBytes = ({ text, bytes }: RenderedJson): number =>
  // V8 stores text that is not ASCII with two bytes for each character.
  (text.length === bytes ? 1 : 2) * text.length + bytes;

export type AnswerOptions = Pick<Answer, 'headers' | 'waited'> & { readonly status?: number };

/** Compressions in progress in the thread pool. Global, because the process has one pool. */
let gzipsInPool = 0;

/** Serializes a JSON value. @throws ServiceError `bad-request` if the text exceeds the limit of a response */
export function renderJson(value: unknown, pretty: boolean): RenderedJson {
  const compact = compactText(value);
  const text = pretty ? runAtOnce(prettyText(compact)) : compact;
  return { text, bytes: Buffer.byteLength(text) };
}

/** Renders long JSON text in slices. @throws ServiceError `bad-request` if `pretty` exceeds the limit of a response */
export function* renderInSlices({ text: compact }: JsonText, pretty: boolean): Steps<RenderedJson> {
  const text = pretty ? yield* prettyText(compact) : compact;
  let bytes = 0;
  for (let start = 0; start < text.length; ) {
    const end = endOfPiece(text, start, JSON_PIECE_BYTES);
    bytes += Buffer.byteLength(text.slice(start, end));
    start = end;
    if (start < text.length) yield;
  }
  return { text, bytes };
}

/** Serializes a list up to the response limit. `advice` ends the error message. @throws ServiceError `bad-request` */
export function* jsonList<Item>(
  items: Iterable<Item>,
  textOf: (item: Item) => string,
  advice = 'ask for less of it',
): Steps<JsonText> {
  const texts: string[] = [];
  const { charactersMax } = answerLimits();
  let characters = 2;
  yield* visitInSlices(items, (item) => {
    const text = textOf(item);
    characters += text.length + 1;
    if (characters > charactersMax) throw answerTooLong(charactersMax, advice);
    texts.push(text);
  });
  return new JsonText(`[${texts.join(',')}]`);
}

/** Serializes an object up to the response limit. @throws ServiceError `bad-request` */
export function* jsonObject<Item>(
  items: Iterable<Item>,
  fieldOf: (item: Item) => readonly [name: string, text: string],
): Steps<JsonText> {
  const { text } = yield* jsonList(items, (item) => {
    const [name, field] = fieldOf(item);
    return `${JSON.stringify(name)}:${field}`;
  });
  return new JsonText(`{${text.slice(1, -1)}}`);
}

const answerTooLong = (charactersMax: number, advice: string): ServiceError =>
  new ServiceError('bad-request', `The answer would be longer than ${charactersMax} characters: ${advice}`);

function compactText(value: unknown): string {
  if (value instanceof JsonText) return value.text;
  return Array.isArray(value) ? runAtOnce(jsonList(value, (item) => JSON.stringify(item))).text : JSON.stringify(value);
}

/** Returns a response with a JSON value, in the format that the client requests. */
export function jsonAnswer(call: Call, value: unknown, options: AnswerOptions = {}): Answer | Promise<Answer> {
  return renderedAnswer(call, renderJson(value, call.query.has(PRETTY.name)), options);
}

/** Returns a response with a serialized body, compressed if the client accepts gzip and the body is large enough. */
export function renderedAnswer(call: Call, rendered: RenderedJson, options: AnswerOptions): Answer | Promise<Answer> {
  const { text, bytes } = rendered;
  const { status = 200, headers: own, waited } = options;
  // Spreading `options` instead would take as long as the rest of the function.
  const plain: Answer = { status, contentType: 'application/json', body: text, bytes, headers: own, waited };
  if (bytes < GZIP_BYTES_MIN) return plain;
  const headers = [...(own ?? []), 'Vary', 'Accept-Encoding'];
  const gzipped = acceptsGzip(call.request.headers['accept-encoding']) ? compress(rendered) : undefined;
  if (gzipped === undefined) return { ...plain, headers };
  const answer = (body: Buffer): Answer => ({
    ...plain,
    body,
    bytes: body.length,
    headers: [...headers, 'Content-Encoding', 'gzip'],
  });
  return gzipped instanceof Promise ? gzipped.then(answer) : answer(gzipped);
}

function* prettyText(compact: string): Steps<string> {
  const { prettyCharactersMax } = answerLimits();
  if (compact.length > prettyCharactersMax)
    throw answerTooLong(prettyCharactersMax, `ask for less of it, or without ${PRETTY.name}`);
  return `${yield* indentInSlices(compact)}\n`;
}

/** Returns the compressed body, or `undefined` if the thread pool has too many compressions in progress. */
function compress(rendered: RenderedJson): Buffer | Promise<Buffer> | undefined {
  if (rendered.gzipped !== undefined) return rendered.gzipped;
  if (rendered.bytes <= GZIP_BYTES_INLINE_MAX) {
    rendered.gzipped = gzipSync(rendered.text, FAST);
  } else if (gzipsInPool < GZIP_PARALLEL_MAX) {
    gzipsInPool += 1;
    rendered.gzipped = gzipAsync(rendered.text, FAST).finally(() => {
      gzipsInPool -= 1;
    });
  }
  return rendered.gzipped;
}
