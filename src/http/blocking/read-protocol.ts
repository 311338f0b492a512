/**
 * Reads over HTTP: the query parameters that every read accepts, the headers that tell the client how current a result
 * is, and the body, which is rendered once for all requests that share it.
 */
import { Type } from 'typebox';
import { runInSlices, type Steps } from '../../state/clock/slices.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import { type Answer, type Call, checkConnected, type Query } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { STORE_SILENCE_MS, WAIT_MS_DEFAULT, WAIT_MS_MAX } from '../limits.ts';
import type { Parameter } from '../parameter.ts';
import { sendAnswer, sendError } from '../send.ts';
import { parseDuration } from '../v1/duration.ts';
import {
  type JsonText,
  memoryBytes,
  type RenderedJson,
  renderedAnswer,
  renderInSlices,
  renderJson,
} from '../v1/json-answer.ts';
import { CACHED, CONSISTENT, INDEX, PRETTY, STALE, WAIT } from '../v1/parameters.ts';

export interface ReadParameters {
  /** The result must have a higher index, or the query waits. 0 disables waiting. */
  readonly index: number;
  /** The time to wait, without jitter. */
  readonly waitMs: number;
  readonly consistency: 'consistent' | 'stale';
  /** Whether to send `Age` and `X-Cache`. */
  readonly cached: boolean;
  readonly pretty: boolean;
}

const DEFAULTS: ReadParameters = {
  index: 0,
  waitMs: WAIT_MS_DEFAULT,
  consistency: 'consistent',
  cached: false,
  pretty: false,
};

const INDEX_MAX = 2n ** 64n - 1n;

/** Reads the parameters. Ignores `cached` unless the endpoint is cacheable. @throws ServiceError `bad-request` */
export function readParameters(query: Query, cacheable: boolean): ReadParameters {
  if (query.size === 0) return DEFAULTS;
  const stale = query.has(STALE.name);
  const cached = cacheable && query.has(CACHED.name);
  if (query.has(CONSISTENT.name)) {
    if (stale) throw conflictingModes(STALE);
    if (cached) throw conflictingModes(CACHED);
  }
  return {
    index: indexOf(query.get(INDEX.name)),
    waitMs: waitOf(query.get(WAIT.name)),
    consistency: stale || cached ? 'stale' : 'consistent',
    cached,
    pretty: query.has(PRETTY.name),
  };
}

const conflictingModes = ({ name }: Parameter): ServiceError =>
  new ServiceError('bad-request', `Cannot specify ?${name} with ?${CONSISTENT.name}, conflicting semantics.`);

function indexOf(text: string | undefined): number {
  if (text === undefined || text === '') return DEFAULTS.index;
  if (!/^\d{1,20}$/.test(text) || BigInt(text) > INDEX_MAX) throw new ServiceError('bad-request', 'Invalid index');
  return Number(text);
}

function waitOf(text: string | undefined): number {
  if (text === undefined || text === '') return DEFAULTS.waitMs;
  const waitMs = parseDuration(text);
  if (waitMs === undefined) throw new ServiceError('bad-request', 'Invalid wait time');
  return waitMs === 0 ? DEFAULTS.waitMs : Math.min(waitMs, WAIT_MS_MAX);
}

const INDEX_HEADER: Parameter = {
  name: 'X-Service-Index',
  description: 'The value of index that waits for the next change. Never 0, and never falls.',
  schema: Type.Integer({ minimum: 1 }),
};
const KNOWN_LEADER: Parameter = {
  name: 'X-Service-KnownLeader',
  description: 'Whether the server can reach the store.',
  schema: Type.Boolean(),
};
const LAST_CONTACT: Parameter = {
  name: 'X-Service-LastContact',
  description: 'The time since the store last answered, in milliseconds.',
  schema: Type.Integer({ minimum: 0 }),
};
const CONSISTENCY: Parameter = {
  name: 'X-Service-Effective-Consistency',
  description: 'The read mode of the response.',
  schema: Type.Enum(['consistent', 'stale']),
};
const DEFAULT_POLICY: Parameter = {
  name: 'X-Service-Default-ACL-Policy',
  description: 'The setting acl.default-policy.',
  schema: Type.Enum(['allow', 'deny']),
};
const CACHE: Parameter = { name: 'X-Cache', description: 'Sent with cached.', schema: Type.Enum(['HIT']) };
const AGE: Parameter = {
  name: 'Age',
  description: 'Sent with cached: the time since the store last answered, in seconds.',
  schema: Type.Integer({ minimum: 0 }),
};

export const FILTERED_HEADER: Parameter = {
  name: 'X-Service-Results-Filtered-By-ACLs',
  description: 'true if the response omits items that the caller may not read.',
  schema: Type.Enum(['true']),
};

export const READ_HEADERS: readonly Parameter[] = [
  INDEX_HEADER,
  KNOWN_LEADER,
  LAST_CONTACT,
  CONSISTENCY,
  DEFAULT_POLICY,
];

export const CACHED_HEADERS: readonly Parameter[] = [CACHE, AGE];

export interface ReadMetadata {
  /** The value of `index` that waits for the next change. Never 0. */
  readonly index: number;
  readonly storeReachable: boolean;
  readonly lastContactMs: number;
  readonly consistency: 'consistent' | 'stale';
  readonly cached: boolean;
  readonly filtered: boolean;
  readonly defaultPolicy: 'allow' | 'deny';
}

/** Returns the headers of a read, flat: name, value, name, value. */
function readHeaders(metadata: ReadMetadata): string[] {
  const headers = [
    INDEX_HEADER.name,
    String(metadata.index),
    KNOWN_LEADER.name,
    metadata.storeReachable ? 'true' : 'false',
    LAST_CONTACT.name,
    String(metadata.lastContactMs),
    CONSISTENCY.name,
    metadata.consistency,
    DEFAULT_POLICY.name,
    metadata.defaultPolicy,
  ];
  if (metadata.filtered) headers.push(FILTERED_HEADER.name, 'true');
  if (metadata.cached) headers.push(CACHE.name, 'HIT', AGE.name, String(Math.floor(metadata.lastContactMs / 1000)));
  return headers;
}

/** A body that can be long. Results with the same `shareKey` share all of it. */
export interface LongBody {
  readonly json: JsonText;
  /** Whether the body omits items that the caller may not read. */
  readonly filtered?: boolean;
  /** See `ReadContent`. */
  readonly headers?: readonly string[];
}

/** The part of a read's result that the client sees. Has a body, a long body, or an error. */
export interface ReadContent {
  /** Returns the JSON value (or a JsonText) of the body. Not called if the query waits. */
  readonly body?: () => unknown;
  /** As `body`, for a result that can have thousands of items. Runs in slices on the snapshot of the query. */
  readonly longBody?: () => Steps<LongBody>;
  /** The error to send with the headers of a read, so that the client can wait for the next change. */
  readonly error?: ServiceError;
  /**
   * Results with the same key, route and snapshot have the same body, which is rendered once and cached. `undefined`
   * for results that few requests share, such as pages, because they would displace useful ones from the cache.
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
  const { error } = content;
  if (error !== undefined) {
    const headers = [...readHeaders(options.metadata), ...(content.headers ?? [])];
    const withHeaders = new ServiceError(error.code, error.message, { headers: [...error.headers, ...headers] });
    sendError(call, withHeaders, waited);
    return;
  }
  const send = (answer: Answer | Promise<Answer>): void => {
    if (answer instanceof Promise) answer.then(send).catch((e: unknown) => sendError(call, e, waited));
    else sendAnswer(call, answer);
  };
  const sendRendered = ({ rendered, filtered = false, headers: own = [] }: Rendered): void => {
    const metadata = filtered ? { ...options.metadata, filtered } : options.metadata;
    const all = [...readHeaders(metadata), ...(content.headers ?? []), ...own];
    send(renderedAnswer(call, rendered, { headers: all, waited: waited || undefined }));
  };
  const { longBody } = content;
  if (longBody === undefined) {
    sendRendered({ rendered: renderBody(call, content, options) });
    return;
  }
  const begin = (): Steps<Rendered> => renderLongBody(call, longBody, content.shareKey, options);
  const result = runInSlices({ begin, check: () => checkConnected(call) });
  if (result instanceof Promise) result.then(sendRendered).catch((e: unknown) => sendError(call, e, waited));
  else sendRendered(result);
}

interface Rendered extends Pick<LongBody, 'filtered' | 'headers'> {
  readonly rendered: RenderedJson;
}

const sharedKey = ({ route }: Call, shareKey: string, pretty: boolean): string =>
  `${route.path}\0${pretty ? 'pretty' : ''}\0${shareKey}`;

function renderBody(call: Call, { body, shareKey }: ReadContent, { snapshot, pretty }: SendReadOptions): RenderedJson {
  if (body === undefined) throw new TypeError(`a read of ${call.route.path} has neither a body nor an error`);
  if (shareKey === undefined) return renderJson(body(), pretty);
  const render = (): RenderedJson => renderJson(body(), pretty);
  return snapshot.memoize(sharedKey(call, shareKey, pretty), render, memoryBytes);
}

function* renderLongBody(
  call: Call,
  longBody: () => Steps<LongBody>,
  shareKey: string | undefined,
  { snapshot, pretty }: SendReadOptions,
): Steps<Rendered> {
  const render = function* (): Steps<Rendered> {
    const { json, ...rest } = yield* longBody();
    yield;
    return { ...rest, rendered: yield* renderInSlices(json, pretty) };
  };
  if (shareKey === undefined) return yield* render();
  const shared = yield* snapshot.memoizeInSlices(
    sharedKey(call, shareKey, pretty),
    () => outcomeOf(render()),
    (outcome) => ('error' in outcome ? 0 : memoryBytes(outcome.rendered)),
  );
  if ('error' in shared) throw shared.error;
  return shared;
}

/** Returns an error as a result, so that a body past the limit is not rendered for each request. */
function* outcomeOf<T>(steps: Steps<T>): Steps<T | { readonly error: ServiceError }> {
  try {
    return yield* steps;
  } catch (error) {
    if (error instanceof ServiceError) return { error };
    throw error;
  }
}

export interface StoreContact {
  readonly loaded: boolean;
  readonly storeFailing: boolean;
  lastContactMs(): number;
}

/** Whether the state is loaded and the store answers. [SRV-66] */
export const isStoreReachable = (state: StoreContact): boolean =>
  state.loaded && !state.storeFailing && state.lastContactMs() <= STORE_SILENCE_MS;
