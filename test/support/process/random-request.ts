/**
 * Builds random requests. About half are what the API description allows and refer to what exists; most others are such
 * requests with one change, so that they pass every check but one; the rest differ in many places.
 */
import { METHODS } from 'node:http';
import type { TSchema } from 'typebox';
import type { Endpoint } from '../../../src/http/endpoint.ts';
import type { Random } from '../random.ts';
import { MEDIA_TYPE } from '../team-access/team-access.ts';
import { type KnownStrings, type RandomValues, randomValues } from './random-values.ts';
import { pathSources, validTexts } from './valid-texts.ts';

/** A request as it is sent. */
export interface RandomRequest {
  readonly endpoint: Endpoint;
  readonly method: string;
  readonly path: string;
  readonly token: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  /** The values of the path's parameters. */
  readonly parameters: readonly string[];
  /** Whether the caller is the one that the endpoint needs. */
  readonly isOwn: boolean;
  /** Whether the request is what the API description allows. */
  readonly isValid: boolean;
  /** The bytes of the whole request, to be sent over a connection of its own, or `undefined` for an HTTP client. */
  readonly bytes: Buffer | undefined;
}

/** The callers of one part of the API. */
export interface Tokens {
  /** The token that an endpoint needs. */
  readonly of: (endpoint: Endpoint) => string | null;
  /** Tokens with other rights, invalid ones, and null. */
  readonly others: readonly (string | null)[];
}

export interface RequestSource {
  readonly endpoints: readonly Endpoint[];
  readonly known: KnownStrings;
  readonly tokens: (endpoint: Endpoint) => Tokens;
}

/** A request before it is encoded. The changes edit it in place. */
interface Draft {
  readonly endpoint: Endpoint;
  method: string;
  /** Encoded. */
  segments: string[];
  /** Encoded. */
  query: string[];
  headers: Record<string, string>;
  token: string | null;
  /** `undefined` for none. */
  body: unknown;
  /** Changes to the encoded body. */
  edits: ((bytes: Buffer) => Buffer)[];
  asBytes: boolean;
}

interface Change {
  readonly random: Random;
  readonly values: RandomValues;
  readonly known: KnownStrings;
  readonly tokens: Tokens;
}

const HEADERS = [
  ...['x-service-partition', 'x-service-export-passphrase', 'x-consul-token', 'x-request-id', 'accept', 'if-match'],
  ...['accept-encoding', 'content-encoding', 'origin', 'if-none-match', 'cookie', 'expect', 'x-consul-namespace'],
  ...['x-consul-partition', 'x-service-token', 'authorization', 'range', 'forwarded', 'x-http-method-override'],
];
/** Values that are valid for some header, or nearly so. */
const HEADER_VALUES = [
  ...['*', '*/*', '"x"', 'W/"x"', 'gzip', 'gzip;q=0', 'identity', '100-continue', 'null', 'eu', 'default', 'DELETE'],
  ...['http://localhost', 'https://evil.example', 'text/html', 'application/json;q=0', 'Bearer', 'bytes=0-1', 'a=b'],
];
const MEDIA_TYPES = [
  ...['application/json; charset=utf-16', 'text/plain', 'application/vnd.api+json; ext="x"', 'multipart/form-data', ''],
  ...['application/json', MEDIA_TYPE, `${MEDIA_TYPE};ext="https://jsonapi.org/ext/atomic"`, '*/*', 'APPLICATION/JSON'],
];
const FLAGS = ['pretty', 'cached', 'stale', 'consistent', 'dc=dc1', 'dc=dc2', 'ns=default', 'near=n1', 'sg=x'];
/** Durations that are short, invalid, or below the least that the server accepts. */
const WAITS = ['1ms', '0s', '-1s', '1us', 'x', '', '1.5ms', '1ms1us', `${'9'.repeat(40)}x`, '1e3ms', '0x1s'];
const NUMBERS = ['1e999', '-0', '1E5', '9'.repeat(400), '9007199254740993', '0.1e-400', '-1', '00', '1.', 'NaN'];

/** Returns the next request. */
export function randomRequest({ endpoints, known, tokens }: RequestSource, random: Random): RandomRequest {
  const endpoint = pickEndpoint(endpoints, random);
  const kind = random.next();
  const isValid = kind < 0.5;
  const isWild = kind > 0.9;
  const values = randomValues(random, { known, scope: scopeOf(endpoint), valid: !isWild });
  const change: Change = { random, known, values, tokens: tokens(endpoint) };
  const draft = makeDraft(endpoint, change);
  if (random.chance(0.15)) draft.token = random.pick(change.tokens.others);
  if (!isValid) changeOnce(draft, change);
  if (isWild) while (random.chance(0.6)) changeOnce(draft, change);
  return { ...encode(draft, values), isOwn: draft.token === change.tokens.of(endpoint), isValid };
}

/** The part of the API whose names the endpoint uses: `peering`, or the JSON:API type. */
export function scopeOf({ path }: Endpoint): string {
  const segments = path.split('/').slice(1);
  if (segments[0] === 'v1') return segments[1] ?? '';
  return segments.findLast((one) => !one.startsWith(':') && !/^(actions|safe-delete|(un)?suspend)$/.test(one)) ?? '';
}

function pickEndpoint(endpoints: readonly Endpoint[], random: Random): Endpoint {
  const endpoint = random.pick(endpoints);
  return random.chance(shareOf(endpoint)) ? endpoint : random.pick(endpoints);
}

/** Returns how likely a chosen endpoint is kept. Frequent deletions would leave little but 404, and exports are slow. */
function shareOf({ method, path }: Endpoint): number {
  if (path === '/v1/operator/export') return 0.1;
  if (/\/(suspend|safe-delete)$/.test(path)) return 0.2;
  if (method !== 'DELETE') return 1;
  return /organizations\/:name$|admin\/users\/:id(\/|$)|acl\/token|partition|organization-memberships\/:id$/.test(path)
    ? 0.03
    : 0.4;
}

function makeDraft(endpoint: Endpoint, change: Change): Draft {
  const { values, random, tokens } = change;
  const headers: Record<string, string> = { host: 'localhost' };
  const body = makeBody(endpoint, change);
  if (endpoint.method !== 'GET') headers['content-type'] = mediaTypeOf(endpoint);
  if (random.chance(0.05) && change.known.has('etag')) {
    headers[random.pick(['if-match', 'if-none-match'])] = change.known.pick('etag', random);
  }
  return {
    endpoint,
    method: endpoint.method,
    segments: makePath(endpoint.path, change),
    query: makeQuery(endpoint, change, values),
    headers,
    token: tokens.of(endpoint),
    body,
    edits: [],
    asBytes: false,
  };
}

const mediaTypeOf = ({ bodyType, path }: Endpoint): string =>
  bodyType ?? (path.startsWith('/api/v2/') ? MEDIA_TYPE : 'application/json');

/** Replaces `:id` below `teams` with the ID of a team, and so on. */
function makePath(pattern: string, { known, random, values }: Change): string[] {
  const segments = pattern.split('/');
  let kind = '';
  return segments.map((segment, i) => {
    if (!segment.startsWith(':')) return segment;
    const before = segments[i - 1]?.replace(':', '') ?? '';
    const value = parameter(before, segment.slice(1));
    if (before === 'config') kind = value;
    return encoded(value);
  });

  function parameter(before: string, name: string): string {
    // The name of a configuration entry depends on its kind.
    const valid = validTexts(name === 'kind' || name === 'state' ? [name] : before === 'kind' ? [kind] : [], random);
    if (valid !== undefined) return random.pick(valid);
    const source = pathSources(pattern, before, name).filter((one) => known.has(one));
    const isNew = random.chance(before === 'partition' ? 0.3 : 0.05);
    return source.length > 0 && !isNew ? known.pick(random.pick(source), random) : values.text(name);
  }
}

function makeQuery({ query = [], blocking }: Endpoint, { random, known }: Change, values: RandomValues): string[] {
  const isNeeded = (name: string): boolean =>
    /^(source|destination|by|name|filter\[\w+\]\[id\]|filter\[organization\]|service)$/.test(name);
  const textOf = (name: string, schema: TSchema): unknown => {
    const [, type] = /^filter\[(team|user|workspace)\]/.exec(name) ?? [];
    if (type !== undefined) return values.text(`id:${type}s`);
    const source = QUERY_SOURCES[name];
    return source !== undefined && known.has(source) ? known.pick(source, random) : values.ofSchema(schema, name);
  };
  const pairs = query
    .filter(({ name }) => random.chance(isNeeded(name) ? 0.9 : 0.15))
    .map(({ name, schema }) => `${encodeURIComponent(name)}=${encoded(String(textOf(name, schema)))}`);
  if (random.chance(0.05)) pairs.push(`partition=${encoded(values.text('partition'))}`);
  if (random.chance(0.05)) pairs.push(random.pick(FLAGS));
  if (blocking && random.chance(0.15)) {
    const index = known.has('index') && random.chance(0.7) ? known.pick('index', random) : random.below(3_000);
    pairs.push(`index=${index}`, 'wait=1ms');
  }
  return pairs;
}

/** Names of `KnownStrings` from which query parameters take their values. */
const QUERY_SOURCES: Readonly<Record<string, string>> = {
  'filter[organization]': 'organizations.name',
  'transfer-to': 'users.username',
  cas: 'ModifyIndex',
  after: 'AccessorID',
};

function makeBody(endpoint: Endpoint, { random, values }: Change): unknown {
  const { body: schema } = endpoint;
  if (schema === undefined) return undefined;
  const body = values.ofSchema(schema) as Record<string, unknown>;
  // The name of this entry is that of its partition.
  if (body['Kind'] === 'exported-services') return { ...body, Name: body['Partition'] ?? 'default' };
  if (!('atomic:operations' in body)) return body;
  return { 'atomic:operations': Array.from({ length: random.below(4) }, () => operation(random, values)) };
}

/** Returns one operation on a row of team access or on a team. */
function operation(random: Random, values: RandomValues): object {
  const [row, team, workspace] = ['team-workspaces', 'teams', 'workspaces'].map((type) => ({
    type,
    id: values.text(`id:${type}`),
  }));
  const access = random.pick(['read', 'plan', 'write', 'admin', 'custom']);
  const relationships = { team: { data: team }, workspace: { data: workspace } };
  return random.pick([
    { op: 'add', data: { type: 'team-workspaces', attributes: { access }, relationships } },
    { op: 'update', ref: row, data: { ...row, attributes: { access } } },
    { op: 'update', ref: team, data: { ...team, attributes: { visibility: random.pick(['secret', 'organization']) } } },
    { op: 'remove', ref: row },
    {
      op: random.pick(['add', 'remove']),
      ref: { ...team, relationship: 'users' },
      data: [{ type: 'users', id: values.text('users.username') }],
    },
  ]);
}

/** Changes a request in one place. */
function changeOnce(draft: Draft, change: Change): void {
  const { random } = change;
  const changes: ((draft: Draft, change: Change) => void)[] = [changePath, changeQuery, changeHeader, changeQuery];
  if (draft.body !== undefined) changes.push(changeBody, changeBody, changeBody, changeBody, changeText);
  else if (random.chance(0.2)) changes.push(addBody);
  if (random.chance(0.3)) changes.push(changeToken, changeMethod, changeMediaType);
  if (random.chance(0.15)) changes.push(changeBytes);
  random.pick(changes)(draft, change);
}

function changePath(draft: Draft, { random, values }: Change): void {
  const at = 1 + random.below(draft.segments.length - 1);
  const segment = draft.segments[at] ?? '';
  const character = segment[0] ?? 'a';
  const changed = random.pick([
    () => [encoded(values.unusualText())],
    () => [segment, encoded(values.unusualText())],
    () => [],
    () => ['', segment],
    () => [segment.toUpperCase()],
    () => [`%${character.charCodeAt(0).toString(16)}${segment.slice(1)}`],
    () => [`${segment}%`],
    () => [segment.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))],
    () => ['..', segment],
    () => [`${segment};a=b`],
  ])();
  // A request line with `//` first would name a host.
  draft.segments = ['', ...draft.segments.toSpliced(at, 1, ...changed).slice(1)];
  if (draft.segments[1] === '') draft.segments[1] = '-';
}

function changeQuery(draft: Draft, { random, values, known }: Change): void {
  const names = [...(draft.endpoint.query ?? []).map(({ name }) => name), 'partition', 'filter', 'cas'];
  const name = encodeURIComponent(random.pick(names));
  const unusual = encoded(values.unusualText());
  const changed = random.pick([
    () => [...draft.query, `${name}=${unusual}`],
    () => [...draft.query, ...draft.query, `${name}=a`, `${name}=b`],
    () => [...draft.query, `${unusual}=${unusual}`],
    () => [...draft.query, `${name}[x]=1`, `${name}[]=1`],
    () => [
      ...draft.query,
      random.pick(['%', '&&', '=', 'a=%zz', '?', '#', `${name}`, `${name}=%00`, 'x'.repeat(9_000)]),
    ],
    () => draft.query.slice(1),
    // Index 0 never waits.
    () => [
      ...draft.query.filter((pair) => !pair.startsWith('index=')),
      'index=0',
      `wait=${encodeURIComponent(random.pick(WAITS))}`,
    ],
    () => [...draft.query, `index=${random.pick(['-1', 'x', '1e3', '9'.repeat(30), '1.5', '', ' 1'])}`, 'wait=1ms'],
    () => [...draft.query, `hash=${known.has('index') ? known.pick('index', random) : 'x'}`, 'index=1', 'wait=1ms'],
    () => [...draft.query, ...FLAGS],
    () => [...draft.query, `page%5Bsize%5D=${random.pick(['0', '-1', '101', '9'.repeat(30), 'x'])}`],
  ])();
  draft.query = changed;
}

function changeHeader({ headers }: Draft, { random, values, known }: Change): void {
  const tag = known.has('etag') ? known.pick('etag', random) : '"x"';
  headers[random.pick(HEADERS)] = headerText(
    random.chance(0.6) ? random.pick([...HEADER_VALUES, tag]) : values.unusualText(),
  );
}

function changeBody(draft: Draft, { values }: Change): void {
  draft.body = values.mutated(draft.body);
}

function addBody(draft: Draft, { values }: Change): void {
  draft.body = values.mutated({});
  draft.headers['content-type'] = mediaTypeOf(draft.endpoint);
}

/** Changes the encoded body: a repeated key, an extreme number, half of a surrogate pair, or any bytes. */
function changeText(draft: Draft, { random, values }: Change): void {
  const edit = (how: (text: string) => string) => draft.edits.push((bytes) => Buffer.from(how(bytes.toString())));
  const some = (text: string, pattern: RegExp, how: (found: string) => string): string => {
    const found = [...text.matchAll(pattern)];
    if (found.length === 0) return text;
    const { index, 0: old } = random.pick(found);
    return text.slice(0, index) + how(old) + text.slice(index + old.length);
  };
  random.pick([
    () => edit((text) => some(text, /"[^"\\]*":/g, (key) => `${key}null,${key}`)),
    () => edit((text) => some(text, /"[^"\\]*":/g, (key) => `${key.toUpperCase()}1,${key}`)),
    () => edit((text) => some(text, /\b\d+\b|"[^"\\]*"(?!:)|true|false/g, () => random.pick(NUMBERS))),
    () => edit((text) => some(text, /"(?!:)/g, () => '"\\ud800')),
    () => edit((text) => `\ufeff${text}`),
    () => edit((text) => some(text, /[}\]]/g, (end) => `,${end}`)),
    () => edit((text) => text.padStart(text.length + 70_000)),
    () => draft.edits.push(values.mutatedBytes),
  ])();
}

function changeToken(draft: Draft, { random, tokens, values }: Change): void {
  draft.token = random.chance(0.7) ? random.pick(tokens.others) : headerText(values.unusualText());
}

function changeMethod(draft: Draft, { random }: Change): void {
  draft.method = random.pick(METHODS.filter((name) => name !== 'CONNECT'));
}

function changeMediaType({ headers }: Draft, { random }: Change): void {
  headers[random.pick(['content-type', 'content-type', 'accept'])] = random.pick(MEDIA_TYPES);
}

function changeBytes(draft: Draft): void {
  draft.asBytes = true;
}

function encode(draft: Draft, values: RandomValues): Omit<RandomRequest, 'isOwn' | 'isValid'> {
  const { endpoint, method, token, segments, query } = draft;
  const path = `${segments.join('/')}${query.length > 0 ? `?${query.join('&')}` : ''}`;
  const text = draft.body === undefined ? undefined : Buffer.from(JSON.stringify(draft.body));
  const body = text === undefined ? undefined : draft.edits.reduce((bytes: Buffer, edit) => edit(bytes), text);
  const headers = { ...draft.headers };
  if (token !== null && headers['authorization'] === undefined) headers['authorization'] = `Bearer ${token}`;
  if (body !== undefined) headers['content-length'] = String(body.length);
  const lines = [`${method} ${path} HTTP/1.1`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  const bytes = draft.asBytes ? values.mutatedBytes(Buffer.concat([head, body ?? Buffer.alloc(0)])) : undefined;
  const parameters = segments.filter((_, i) => endpoint.path.split('/')[i]?.startsWith(':'));
  return { endpoint, method, path, token, headers, body, parameters, bytes };
}

/** Percent-encodes a text. An unpaired surrogate becomes bytes that UTF-8 forbids. */
const encoded = (text: string): string =>
  [...text].map((character) => (character.isWellFormed() ? encodeURIComponent(character) : '%ED%A0%80')).join('');

const headerText = (text: string): string => text.replaceAll(/[^\x20-\x7e\x80-\xff]/g, '');
