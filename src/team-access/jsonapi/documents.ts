/** JSON:API documents, and answers with them. */
import { hash } from 'node:crypto';
import { Type } from 'typebox';
import type { Answer } from '../../http/answer.ts';
import type { Call } from '../../http/call.ts';
import type { Parameter } from '../../http/parameter.ts';
import { JsonApiError } from './errors.ts';
import { JSON_API } from './media-type.ts';

/** A resource as it is shown. */
export interface Resource {
  readonly id: string;
  readonly type: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly relationships?: Readonly<Record<string, unknown>>;
  readonly links?: Readonly<Record<string, string>>;
}

/** What answers consist of. */
export interface Document {
  readonly data: Resource | readonly Resource[] | null;
  readonly included?: readonly Resource[];
  readonly links?: Readonly<Record<string, string | null>>;
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** The name of what a reader has; the same document has the same one on every server. */
export const tagOf = (document: Document): string => tagOfText(JSON.stringify(document));

const tagOfText = (text: string): string => `"${hash('sha256', text, 'base64url')}"`;

/** A document as it is sent. */
export interface WrittenDocument {
  readonly text: string;
  readonly tag: string;
}

/** Writes a document, for one reader or for many. */
export function writeDocument(document: Document): WrittenDocument {
  const text = JSON.stringify(document);
  return { text, tag: tagOfText(text) };
}

/** What a document takes while it is kept: names of any script take two bytes a character. */
export const bytesHeld = ({ text, tag }: WrittenDocument): number => 2 * (text.length + tag.length);

/** An answer with a document; to a GET 304 when the reader has it already. */
export function documentAnswer(call: Call, document: Document, status = 200): Answer {
  const { method } = call.request;
  if (method === 'GET' || method === 'HEAD') return writtenAnswer(call, writeDocument(document), status);
  return { status, contentType: JSON_API, body: JSON.stringify(document) };
}

/** Likewise, to a GET, with a document that is written already. */
export function writtenAnswer({ request }: Call, { text, tag }: WrittenDocument, status = 200): Answer {
  const headers = ['ETag', tag, 'Cache-Control', 'private, no-cache'];
  const known = request.headers['if-none-match'];
  if (known !== undefined && names(known, tag, true)) return { status: 304, body: '', headers };
  return { status, contentType: JSON_API, body: text, headers };
}

/** 204 without a body. */
export const nothingAnswer: Answer = { status: 204, body: '' };

/**
 * Refuses a write whose `If-Match` names something else than what is there now, shown as a read would show it.
 * @throws JsonApiError `precondition-failed`
 */
export function checkIfMatch({ request }: Call, current: () => Document): void {
  const wanted = request.headers['if-match'];
  if (wanted === undefined || names(wanted, tagOf(current()), false)) return;
  throw new JsonApiError([{ code: 'precondition-failed', detail: 'If-Match does not name the current state' }]);
}

/** `If-Match`, for the descriptions of writes that take it. */
export const IF_MATCH: Parameter = {
  name: 'If-Match',
  description: 'Only if what is there has this `ETag`, as a read without `include` tells it; else 412.',
  schema: Type.String(),
};

/**
 * For writes about what has no `ETag` of its own: who thinks that its state was named must not go on.
 * @throws JsonApiError `bad-request`
 */
export function refuseIfMatch({ request }: Call): void {
  if (request.headers['if-match'] === undefined) return;
  const detail = 'there is no If-Match here: it goes with changing or deleting one thing, whose ETag a read tells';
  throw new JsonApiError([{ code: 'bad-request', detail }]);
}

/** What must hold of what is there, shown as a read would show it. @throws JsonApiError `precondition-failed` */
export type Precondition = (current: () => Document) => void;

/** What a request asks to hold. */
export const ifMatch =
  (call: Call): Precondition =>
  (current) =>
    checkIfMatch(call, current);

/** Nothing has to hold. */
export const unconditional: Precondition = () => undefined;

/** RFC 9110, 13.1: `*` or a list of tags; `weak`: `W/` makes no difference. */
function names(list: string, tag: string, weak: boolean): boolean {
  return list
    .split(',')
    .map((one) => one.trim())
    .some((one) => one === '*' || one === tag || (weak && one === `W/${tag}`));
}
