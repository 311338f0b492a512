/** Sends the result of a read: adds the headers of reads, and renders a body once for all requests that share it. */
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { sendAnswer, sendError } from '../send.ts';
import { memoryBytes, type RenderedJson, renderedAnswer, renderJson } from '../v1/json-answer.ts';
import { type ReadMetadata, readHeaders } from './read-headers.ts';

/** The part of a read's result that the client sees. Has either a body or an error. */
export interface ReadContent {
  /** Returns the JSON value (or a JsonText) of the body. Not called if the query waits. */
  readonly body?: () => unknown;
  /** The error to send with the headers of a read, so that the client can wait for the next change. */
  readonly error?: ServiceError;
  /**
   * Results with the same key, route and snapshot have the same body, which is rendered once and cached. `undefined` for
   * results that few requests share, such as pages, because they would displace useful ones from the cache.
   */
  readonly shareKey?: string | undefined;
  /** Whether the result omits items that the caller may not read. */
  readonly filtered?: boolean;
  /** Response headers in addition to those of all reads, flat: name, value, name, value. */
  readonly headers?: readonly string[];
}

export interface SendReadOptions {
  readonly metadata: ReadMetadata;
  readonly snapshot: Snapshot;
  readonly pretty: boolean;
  /** See `Answer`. */
  readonly waited: boolean;
}

/** Sends the result of a read. @throws ServiceError if the body exceeds the limit of a response */
export function sendRead(call: Call, content: ReadContent, options: SendReadOptions): void {
  const { waited } = options;
  const headers = readHeaders(options.metadata);
  if (content.headers !== undefined) headers.push(...content.headers);
  const { error } = content;
  if (error !== undefined) {
    const withHeaders = new ServiceError(error.code, error.message, { headers: [...error.headers, ...headers] });
    sendError(call, withHeaders, waited);
    return;
  }
  const answer = renderedAnswer(call, renderBody(call, content, options), { headers, waited: waited || undefined });
  if (answer instanceof Promise) {
    answer.then((later) => sendAnswer(call, later)).catch((e: unknown) => sendError(call, e));
  } else {
    sendAnswer(call, answer);
  }
}

function renderBody(
  { route }: Call,
  { body, shareKey }: ReadContent,
  { snapshot, pretty }: SendReadOptions,
): RenderedJson {
  if (body === undefined) throw new TypeError(`a read of ${route.path} has neither a body nor an error`);
  if (shareKey === undefined) return renderJson(body(), pretty);
  const key = `${route.path}\0${pretty ? 'pretty' : ''}\0${shareKey}`;
  const shared = snapshot.memoize(
    key,
    () => renderShared(body, pretty),
    ({ cachedBytes }) => cachedBytes,
  );
  if ('error' in shared) throw shared.error;
  return shared.rendered;
}

type SharedBody = { readonly cachedBytes: number } & (
  | { readonly rendered: RenderedJson }
  | { readonly error: ServiceError }
);

/** Renders a body for the cache. Caches an error too, so that a body past the limit is not rendered for each request. */
function renderShared(body: () => unknown, pretty: boolean): SharedBody {
  try {
    const rendered = renderJson(body(), pretty);
    return { rendered, cachedBytes: memoryBytes(rendered) };
  } catch (error) {
    if (error instanceof ServiceError) return { error, cachedBytes: 0 };
    throw error;
  }
}
