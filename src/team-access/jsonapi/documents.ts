/** JSON:API over HTTP: the media type and its negotiation, documents, the answers that contain them, and `If-Match`. */
import { createHash, hash } from 'node:crypto';
import { Type } from 'typebox';
import { acceptsMediaType } from '../../http/accept.ts';
import type { Answer, Call } from '../../http/call.ts';
import { stringifyInSlices } from '../../http/json/sliced-json.ts';
import type { Parameter } from '../../http/parameter.ts';
import type { Steps } from '../../state/clock/slices.ts';
import { JsonApiError } from './errors.ts';
import { contentTypeError, isMediaType, JSON_API_MEDIA_TYPE } from './media-type.ts';

export const JSON_API_CONTENT_TYPE = `${JSON_API_MEDIA_TYPE}; charset=utf-8`;

/**
 * Rejects a request whose `Accept` header excludes both `mediaType` and JSON:API.
 * @throws JsonApiError `not-acceptable`
 */
export function checkAccept({ request: { headers } }: Call, mediaType = JSON_API_MEDIA_TYPE): void {
  const { accept } = headers;
  if (
    accept === undefined ||
    accept.trim() === '' ||
    acceptsMediaType(accept, mediaType) ||
    acceptsMediaType(accept, JSON_API_MEDIA_TYPE)
  )
    return;
  throw new JsonApiError([{ code: 'not-acceptable', detail: `the answer is ${mediaType}` }]);
}

/**
 * Rejects a write whose `Content-Type` is not that of its endpoint. A `DELETE` without a body needs none ([TEAM-19]).
 * @throws JsonApiError `invalid-content-type`
 */
export function checkContentType({ request, route, body }: Call): void {
  if (request.method === 'DELETE' && body.length === 0) return;
  const wanted = route.bodyType ?? JSON_API_MEDIA_TYPE;
  if (isMediaType(request.headers['content-type'], wanted)) return;
  throw new JsonApiError([{ code: 'invalid-content-type', detail: contentTypeError(wanted) }]);
}

export interface Resource {
  readonly id: string;
  readonly type: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly relationships?: Readonly<Record<string, unknown>>;
  readonly links?: Readonly<Record<string, string>>;
}

export interface Document {
  readonly data: Resource | readonly Resource[] | null;
  readonly included?: readonly Resource[];
  readonly links?: Readonly<Record<string, string | null>>;
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** Returns the `ETag` of a document, which is the same on every server. */
export const etagOf = (document: Document): string => etagOfText(JSON.stringify(document));

const etagOfText = (text: string): string => `"${hash('sha256', text, 'base64url')}"`;

/** A document in the form in which it is sent, so that a cache can keep it. */
export interface SerializedDocument {
  readonly text: string;
  readonly etag: string;
}

export function serializeDocument(document: Document): SerializedDocument {
  const text = JSON.stringify(document);
  return { text, etag: etagOfText(text) };
}

/** Returns the bytes and the `ETag` of a large document. */
export function* serializeInSlices(document: Document): Steps<{ readonly text: Buffer; readonly etag: string }> {
  const text = yield* stringifyInSlices(document);
  const digest = createHash('sha256');
  for (let start = 0; start < text.length; start += HASHED_BYTES) {
    yield;
    digest.update(text.subarray(start, start + HASHED_BYTES));
  }
  return { text, etag: `"${digest.digest('base64url')}"` };
}

/** Bytes that are hashed at once, in about 1 ms. */
const HASHED_BYTES = 512 * 1024;

/** Returns the memory that a cached document uses, at two bytes per character. */
export const bytesInMemory = ({ text, etag }: SerializedDocument): number => 2 * (text.length + etag.length);

/** Answers with a document, or with 304 when a GET has a matching `If-None-Match`. */
export function documentAnswer(call: Call, document: Document, status = 200): Answer {
  const { method } = call.request;
  if (method === 'GET' || method === 'HEAD') return serializedAnswer(call, serializeDocument(document), status);
  return { status, contentType: JSON_API_CONTENT_TYPE, body: JSON.stringify(document) };
}

/** Answers a GET with a long document. */
export function* longDocumentAnswer(call: Call, document: Document): Steps<Answer> {
  return serializedAnswer(call, yield* serializeInSlices(document));
}

/** Answers a GET with a serialized document. */
export function serializedAnswer(
  { request }: Call,
  { text, etag }: { readonly text: string | Buffer; readonly etag: string },
  status = 200,
): Answer {
  const headers = ['ETag', etag, 'Cache-Control', 'private, no-cache'];
  const cached = request.headers['if-none-match'];
  if (cached !== undefined && matchesEtag(cached, etag, true)) return { status: 304, body: '', headers };
  return { status, contentType: JSON_API_CONTENT_TYPE, body: text, headers };
}

export const NO_CONTENT: Answer = { status: 204, body: '' };

/**
 * Rejects a write whose `If-Match` does not match the `ETag` of the current document, as a read by the same caller
 * returns it.
 * @throws JsonApiError `precondition-failed`
 */
export function checkIfMatch({ request }: Call, currentEtag: string): void {
  const expected = request.headers['if-match'];
  if (expected === undefined || matchesEtag(expected, currentEtag, false)) return;
  throw new JsonApiError([{ code: 'precondition-failed', detail: 'If-Match does not name the current state' }]);
}

export const IF_MATCH: Parameter = {
  name: 'If-Match',
  description: '`ETag` that a read without `include` returned. If the resource has changed since, the answer is 412.',
  schema: Type.String(),
};

/**
 * Rejects `If-Match` on writes without a resource that has an `ETag`, because ignoring it would drop a precondition.
 * @throws JsonApiError `bad-request`
 */
export function rejectIfMatch({ request }: Call): void {
  if (request.headers['if-match'] === undefined) return;
  const detail =
    'If-Match is not supported here: send it when you change or delete one resource, with the ETag of a read';
  throw new JsonApiError([{ code: 'bad-request', detail }]);
}

/** A check of the current document before a write. @throws JsonApiError `precondition-failed` */
export type Precondition = (current: () => Document) => void;

export const ifMatch =
  (call: Call): Precondition =>
  (current) => {
    if (call.request.headers['if-match'] !== undefined) checkIfMatch(call, etagOf(current()));
  };

export const unconditional: Precondition = () => undefined;

/** Whether `*` or a list of entity tags matches (RFC 9110, 13.1). `weak` selects weak comparison. */
function matchesEtag(list: string, etag: string, weak: boolean): boolean {
  return list
    .split(',')
    .map((one) => one.trim())
    .some((one) => one === '*' || one === etag || (weak && one === `W/${etag}`));
}
