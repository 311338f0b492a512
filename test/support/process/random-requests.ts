/** Random requests to every endpoint of both services: what the API description allows, mutations of it, and raw bytes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { METHODS } from 'node:http';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { TSchema } from 'typebox';
import type { Endpoint } from '../../../src/http/endpoint.ts';
import type { Snapshot } from '../../../src/state/memory/snapshot.ts';
import { tokenUses } from '../../../src/team-access/tables/authentication-token.ts';
import { createRandom, type Random } from '../random.ts';
import { makeCompany } from '../team-access/organizations.ts';
import { MEDIA_TYPE, request } from '../team-access/team-access.ts';
import type { Api } from './api.ts';
import { KnownStrings, type RandomValues, randomValues } from './random-values.ts';

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  /** Whether the request is changed as bytes, and sent over a connection of its own. */
  readonly asBytes: boolean;
}

/** What the requests of one run led to. */
export interface Outcome {
  /** The number of answers by status. */
  readonly statuses: Map<number, number>;
  /** The endpoints, such as `GET /v1/peerings`, that answered at least one request with 2xx. */
  readonly succeeded: Set<string>;
}

/** A request that gets no answer in this time is not valid HTTP to its end, so the server waits for the rest. */
const RAW_ANSWER_MS = 50;

const HEADERS = [
  ...['x-service-partition', 'x-service-export-passphrase', 'x-consul-token', 'x-request-id', 'accept', 'if-match'],
  ...['accept-encoding', 'content-type', 'content-encoding', 'origin', 'if-none-match', 'cookie', 'expect'],
];
const FLAGS = ['pretty', 'cached', 'stale', 'consistent'];

/** Requests after which a new organization takes over, because the changes have used up the earlier one. */
const REQUESTS_OF_ORGANIZATION = 2_500;

/**
 * Sends `count` random requests one after the other, with tokens of every kind.
 * @throws AssertionError with the number of the request if an answer is 5xx, other than 501 of an operation that is not
 *   supported, or if a rejected request or a read changes the state
 */
export async function sendRandomRequests(api: Api, seed: number, count: number): Promise<Outcome> {
  const outcome: Outcome = { statuses: new Map(), succeeded: new Set() };
  await api.makePartitions('eu');
  // Each request has a source of its own, so a change of one does not change the following ones.
  const seeds = createRandom(seed);
  // Made before the requests, which can change and delete any token.
  const tokens = await makeTokens(api, Math.ceil(count / REQUESTS_OF_ORGANIZATION));
  let world: World | undefined;
  for (let i = 0; i < count; i++) {
    if (i % REQUESTS_OF_ORGANIZATION === 0) world = undefined;
    world ??= await makeWorld(api, i, tokens.shift() ?? []);
    await sendOne(api, world, seeds.fork(), { outcome, name: `request ${i} of seed ${seed}` });
  }
  return outcome;
}

/** What the requests to one organization and to `/v1` name and present. */
interface World {
  readonly known: KnownStrings;
  readonly people: readonly (string | null)[];
  readonly programs: readonly (string | null)[];
}

const ALL_GRANTS = ['peering', 'services', 'config', 'acl', 'operator'].map((resource) => `${resource}:write@*`);

/** Returns a token with every grant and one with few grants, for each of `count` worlds. */
async function makeTokens(api: Api, count: number): Promise<string[][]> {
  const result: string[][] = [];
  for (let i = 0; i < count; i++) {
    const all = await api.makeToken(ALL_GRANTS);
    const few = await api.makeToken(['acl:write@eu', 'operator:read@*'], { Partition: 'eu' });
    result.push([...times(20, all.SecretID), few.SecretID]);
  }
  return result;
}

async function makeWorld(api: Api, number: number, tokens: readonly string[]): Promise<World> {
  const known = new KnownStrings();
  const company = await makeCompany(api.state, `acme-${number}`);
  const ids = { teams: company.teams, workspaces: company.workspaces, 'team-workspaces': company.rows };
  for (const [type, byName] of Object.entries({ ...ids, organizations: { name: company.name } })) {
    known.remember(Object.entries(byName).map(([name, id]) => ({ type, id, name })));
  }
  const { owner, ...others } = company.tokens;
  const people = [...times(40, owner), ...Object.values(others), ...times(5, api.adminToken)];
  // The first use of a user's token changes the user.
  for (const token of people) await request(api, token, 'GET', '/account/details');
  await api.usesWritten();
  return { known, people, programs: [...tokens, 'unknown', null] };
}

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

async function sendOne(
  api: Api,
  { known, people, programs }: World,
  random: Random,
  { outcome: { statuses, succeeded }, name }: { readonly outcome: Outcome; readonly name: string },
): Promise<void> {
  let endpoint = random.pick(api.server.endpoints);
  // Otherwise the organization and its owner would soon be deleted, and little but 404 would follow.
  if (endpoint.method === 'DELETE' && random.chance(0.9)) endpoint = random.pick(api.server.endpoints);
  const values = randomValues(random, known);
  const token = random.pick(endpoint.path.startsWith('/api/') ? people : programs);
  const sent = randomRequest(endpoint, token, random, values);
  // The rows of a deleted owner are deleted in the background.
  while (api.state.snapshot.mayHaveOrphans) await setImmediate();
  const { snapshot } = api.state;
  const { status, text, isJson } = await answerTo(api, sent, values);
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  const shown = `${name}: ${sent.method} ${sent.path} ${sent.body ?? ''}\n${status} ${text}`;
  assert.ok(status < 500 || status === 501, shown);
  if (status >= 400 || sent.method === 'GET' || sent.method === 'HEAD') await assertUnchanged(api, snapshot, shown);
  if (status > 0 && status < 300 && sent.method === endpoint.method)
    succeeded.add(`${endpoint.method} ${endpoint.path}`);
  if (isJson && status < 300) known.remember(JSON.parse(text));
}

function randomRequest(endpoint: Endpoint, token: string | null, random: Random, values: RandomValues): Sent {
  const asBytes = random.chance(0.02);
  const method = random.chance(0.03) ? random.pick(METHODS.filter((name) => name !== 'CONNECT')) : endpoint.method;
  const query = randomQuery(endpoint, random, values);
  if (endpoint.blocking && !asBytes && random.chance(0.2)) query.push(`index=${random.below(3_000)}`, 'wait=1ms');
  const headers: Record<string, string> = { host: 'localhost' };
  if (token !== null) headers['authorization'] = `Bearer ${token}`;
  while (random.chance(0.2)) headers[random.pick(HEADERS)] = headerText(values.text('header'));
  const body = randomBody(endpoint, random, values);
  if (body !== undefined) headers['content-length'] = String(body.length);
  if (body !== undefined && random.chance(0.95)) headers['content-type'] = mediaTypeOf(endpoint);
  return {
    method,
    path: `${randomPath(endpoint.path, random, values)}${query.length > 0 ? `?${query.join('&')}` : ''}`,
    headers,
    body,
    asBytes,
  };
}

const mediaTypeOf = ({ bodyType, path }: Endpoint): string =>
  bodyType ?? (path.startsWith('/api/v2/') ? MEDIA_TYPE : 'application/json');

/** Replaces `:id` below `/teams/` with the ID of a team, and so on. */
function randomPath(pattern: string, random: Random, values: RandomValues): string {
  const path = pattern.replaceAll(/([\w-]+)\/:(\w+)/g, (_, before: string, name: string) => {
    const names = [`id:${before}`, `id:${name}s`, `${name}ID`, `${before.replace(/s$/, '')}ID`, name, 'Name'];
    return `${before}/${encoded(values.text(...names))}`;
  });
  return random.chance(0.02) ? `${path}/${encoded(values.unusualText())}` : path;
}

function randomQuery({ query = [] }: Endpoint, random: Random, values: RandomValues): string[] {
  const pairs = query
    .filter(() => random.chance(0.25))
    .map(({ name, schema }) => `${encodeURIComponent(name)}=${encoded(String(queryValue(name, schema, values)))}`);
  if (random.chance(0.1)) pairs.push(`partition=${encoded(values.text('partition'))}`);
  if (random.chance(0.1)) pairs.push(random.pick(FLAGS));
  if (random.chance(0.05)) pairs.push(`${encoded(values.unusualText())}=${encoded(values.unusualText())}`);
  return pairs;
}

/** Returns the ID of a team for `filter[team][id]` and `filter[team]`, and otherwise a value of the schema. */
function queryValue(name: string, schema: TSchema, values: RandomValues): unknown {
  const [, type] = /^filter\[(\w+)\]/.exec(name) ?? [];
  return type === undefined ? values.ofSchema(schema, name) : values.text(`id:${type}s`);
}

function randomBody({ body: schema, method }: Endpoint, random: Random, values: RandomValues): Buffer | undefined {
  if (schema === undefined && (method === 'GET' || random.chance(0.9))) return undefined;
  let value = schema === undefined ? values.mutated({}) : values.ofSchema(schema);
  while (random.chance(0.25)) value = values.mutated(value);
  const bytes = Buffer.from(JSON.stringify(value));
  return random.chance(0.05) ? values.mutatedBytes(bytes) : bytes;
}

/** Percent-encodes a text. An unpaired surrogate becomes bytes that UTF-8 forbids. */
const encoded = (text: string): string =>
  [...text].map((character) => (character.isWellFormed() ? encodeURIComponent(character) : '%ED%A0%80')).join('');

const headerText = (text: string): string => text.replaceAll(/[^\x20-\x7e\x80-\xff]/g, '');

interface Received {
  readonly status: number;
  readonly text: string;
  readonly isJson: boolean;
}

async function answerTo(api: Api, sent: Sent, values: RandomValues): Promise<Received> {
  const { method, path, headers, body } = sent;
  if (!sent.asBytes) {
    const { status, text, headers: given } = await api.request(method, path, { headers, body, token: null });
    return {
      status,
      text,
      isJson: text !== '' && /^application\/(vnd\.api\+)?json\b/.test(given['content-type'] ?? ''),
    };
  }
  const lines = [`${method} ${path} HTTP/1.1`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return await answerToBytes(api.address, values.mutatedBytes(Buffer.concat([head, body ?? Buffer.alloc(0)])));
}

/** Sends bytes over a connection of its own. Returns the first status, or 0 if there is no answer. */
async function answerToBytes(address: string, bytes: Buffer): Promise<Received> {
  const { hostname, port } = new URL(address);
  const socket = connect({ host: hostname, port: Number(port) });
  let text = '';
  socket.on('error', () => undefined);
  socket.setTimeout(RAW_ANSWER_MS, () => socket.destroy());
  socket.once('data', (chunk: Buffer) => {
    text = chunk.toString('latin1');
    socket.destroy();
  });
  socket.write(bytes);
  await once(socket, 'close');
  return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? 0), text, isJson: false };
}

/** Checks that nothing changed since `snapshot` but the recorded uses of tokens. */
async function assertUnchanged(api: Api, snapshot: Snapshot, shown: string): Promise<void> {
  if (api.state.snapshot === snapshot) return;
  await api.usesWritten();
  for (const [table, { rows }] of api.state.snapshot.tables) {
    if (table.name !== tokenUses.name) assert.equal(rows, snapshot.tables.get(table)?.rows, `${table.name}: ${shown}`);
  }
}
