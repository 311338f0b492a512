/** Sends random requests to every endpoint of both services, and checks what each of them may do. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { auditKeyAt, auditLog } from '../../../src/audit/record.ts';
import { ALL_GRANTS, aclTokens, type Grant } from '../../../src/credentials/acl-token.ts';
import { hashSecret, orderedUuid } from '../../../src/credentials/ids-and-secrets.ts';
import { users, userTokens } from '../../../src/credentials/user.ts';
import type { Endpoint } from '../../../src/http/endpoint.ts';
import { peerings } from '../../../src/peering/record/record.ts';
import type { Snapshot } from '../../../src/state/memory/snapshot.ts';
import { tokenUses } from '../../../src/team-access/tables/authentication-token.ts';
import { teamMemberKey, teamMembers } from '../../../src/team-access/tables/team.ts';
import { createRandom } from '../random.ts';
import { makeCompany } from '../team-access/organizations.ts';
import { request } from '../team-access/team-access.ts';
import { type Api, startApi } from './api.ts';
import { type RandomRequest, type RequestSource, randomRequest, scopeOf, type Tokens } from './random-request.ts';
import { KnownStrings } from './random-values.ts';

/** The results of the requests of one run. */
export interface Outcome {
  /** The number of responses by status. 0 stands for none. */
  readonly statuses: Map<number, number>;
  /** The same by endpoint, such as `GET /v1/peerings`, for requests with its method. */
  readonly byEndpoint: Map<string, Map<number, number>>;
}

/** A request that gets no answer in this time is not valid HTTP to its end, so the server waits for the rest. */
const RAW_ANSWER_MS = 50;

/** Requests after which a new organization takes over, because the changes have used up the earlier one. */
const REQUESTS_OF_ORGANIZATION = 2_500;

/** Peering tokens of another cluster that each organization starts with. */
const PEERING_TOKENS = 10;

/** Longer responses, such as an export, contain little that shorter ones do not. */
const REMEMBERED_LENGTH_MAX = 20_000;

/**
 * Sends `count` random requests one after the other, with tokens of every kind.
 * @throws AssertionError with the number of the request if an answer is 5xx, other than 501 of an operation that is not
 *   supported, or if a rejected request or a read changes the state or the audit log
 */
export async function sendRandomRequests(api: Api, seed: number, count: number): Promise<Outcome> {
  await using other = await startApi({ node: 'other' });
  const outcome: Outcome = { statuses: new Map(), byEndpoint: new Map() };
  await api.makePartitions('eu');
  // Each request has a source of its own, so a change of one does not change the following ones.
  const seeds = createRandom(seed);
  let world: World | undefined;
  for (let i = 0; i < count; i++) {
    if (i % REQUESTS_OF_ORGANIZATION === 0 || world?.isSpent() === true) world = undefined;
    world ??= await makeWorld({ api, other }, `${seed}-${i}`);
    const sent = randomRequest(world, seeds.fork());
    const status = await sendOne(api, world.known, sent, `request ${i} of seed ${seed}`);
    increment(outcome.statuses, status);
    if (sent.method !== sent.endpoint.method) continue;
    const name = `${sent.endpoint.method} ${sent.endpoint.path}`;
    increment(
      outcome.byEndpoint.getOrInsertComputed(name, () => new Map()),
      status,
    );
  }
  return outcome;
}

const increment = (counts: Map<number, number>, key: number): void => void counts.set(key, (counts.get(key) ?? 0) + 1);

/** The names and tokens of the requests to one organization and to `/v1`. */
interface World extends RequestSource {
  /** Whether the requests have deleted what most of them need: a token, the owner, or the organization. */
  isSpent(): boolean;
}

async function makeWorld({ api, other }: { readonly api: Api; readonly other: Api }, name: string): Promise<World> {
  const known = new KnownStrings();
  const company = await makeCompany(api.state, `acme-${name}`);
  const all = await putToken(api, `all-${name}`, ALL_GRANTS);
  const few = await putToken(api, `few-${name}`, [
    { Resource: 'acl', Access: 'write', Partition: 'eu' },
    { Resource: 'services', Access: 'write', Partition: 'default', Names: ['web'] },
    { Resource: 'peering', Access: 'read', Partition: 'default' },
  ]);
  for (let i = 0; i < PEERING_TOKENS; i++) {
    const body = { PeerName: `${name}-${i}` };
    known.remember((await other.request('POST', '/v1/peering/token', { body })).json(), 'peering');
  }
  known.remember([{ Name: 'default' }, { Name: 'eu' }], 'partitions');
  const ids = { teams: company.teams, workspaces: company.workspaces, 'team-workspaces': company.rows };
  for (const [type, byName] of Object.entries(ids)) {
    for (const [each, id] of Object.entries(byName)) known.remember({ type, id, name: each }, type);
  }
  known.pin('organizations.name', company.name);
  for (const kind of ['owner', 'visible', 'reader', 'idle']) known.pin('users.username', `${company.name}-${kind}`);
  const { owner, 'site-admin': admin } = company.tokens;
  // The first use of a user's token changes the user.
  for (const token of [...Object.values(company.tokens), api.adminToken]) {
    const answer = await request(api, token, 'GET', '/account/details');
    if (token === owner) known.pin('id:self', answer.json<{ data: { id: string } }>().data.id);
  }
  await api.usesWritten();
  const people: Tokens = {
    of: ({ path }) => (path.includes('/admin/') ? admin : owner),
    others: [...Object.values(company.tokens), api.adminToken, all],
  };
  const programs: Tokens = { of: () => all, others: [few, few, 'unknown', null, owner] };
  return {
    endpoints: api.server.endpoints,
    known,
    tokens: ({ path }: Endpoint) => (path.startsWith('/api/') ? people : programs),
    isSpent: () => isSpent(api.state.snapshot, { owner: owner ?? '', admin: admin ?? '', all }, company.teams.owners),
  };
}

/** Whether a token is deleted, its user is suspended, or the owner has left the owners team. */
function isSpent(
  snapshot: Snapshot,
  { owner, admin, all }: Readonly<Record<'owner' | 'admin' | 'all', string>>,
  ownersTeamId: string,
): boolean {
  const isActive = (secret: string): boolean => {
    const userId = snapshot.find(userTokens, 'secretHash', hashSecret(secret))?.row.userId;
    return userId !== undefined && snapshot.get(users, userId)?.row.suspendedTime === undefined;
  };
  if (!isActive(owner) || !isActive(admin)) return true;
  if (snapshot.find(aclTokens, 'secretHash', hashSecret(all)) === undefined) return true;
  const userId = snapshot.find(userTokens, 'secretHash', hashSecret(owner))?.row.userId ?? '';
  return snapshot.get(teamMembers, teamMemberKey(ownersTeamId, userId)) === undefined;
}

async function putToken(api: Api, secret: string, grants: readonly Grant[]): Promise<string> {
  await api.state.write((tx) => {
    const row = {
      accessorId: orderedUuid(),
      secretHash: hashSecret(secret),
      description: '',
      partition: 'default',
      grants,
    };
    tx.put(aclTokens, { ...row, createTime: new Date(tx.now).toISOString() });
  });
  return secret;
}

async function sendOne(api: Api, known: KnownStrings, sent: RandomRequest, name: string): Promise<number> {
  // The rows of a deleted owner are deleted in the background.
  while (api.state.snapshot.mayHaveOrphans) await setImmediate();
  const { snapshot } = api.state;
  const asked = `${name}: ${sent.method} ${sent.path} ${sent.body ?? ''}`;
  const { status, text, isJson, tag, index } = await answerTo(api, sent).catch((cause: unknown) => {
    throw new Error(`no response to ${asked}`, { cause });
  });
  const shown = `${asked}\n${status} ${text}`;
  assert.ok(status < 500 || status === 501, shown);
  if (status >= 400 || sent.method === 'GET' || sent.method === 'HEAD') await assertUnchanged(api, snapshot, shown);
  // Another request has deleted the item, alone or with its owner.
  const isGone = status === 404 && sent.method === 'GET' && sent.isValid && sent.isOwn && !sent.path.includes('?');
  if (isGone) known.forget(sent.parameters.at(-1) ?? '');
  if (status < 200 || status > 299) return status;
  const { method, path } = sent.endpoint;
  if (method === 'DELETE' && !/relationships/.test(path)) known.forget(sent.parameters.at(-1) ?? '');
  if (path.startsWith('/v1/peering')) await removeTerminated(api);
  const scope = scopeOf(sent.endpoint);
  if (isJson && text.length <= REMEMBERED_LENGTH_MAX) known.remember(JSON.parse(text), scope);
  if (sent.isValid && sent.body !== undefined) known.remember(JSON.parse(sent.body.toString()), scope);
  if (tag !== undefined) known.add('etag', tag);
  if (index !== undefined) known.add('index', index);
  return status;
}

/** Removes the records of deleted peerings, as a background job does. A name is free only then. */
async function removeTerminated({ state }: Api): Promise<void> {
  if (state.snapshot.list(peerings, 'terminated', '', { limit: 1 }).length === 0) return;
  await state.write((tx) => {
    for (const { row } of tx.list(peerings, 'terminated', '')) tx.delete(peerings, row.id);
  });
}

interface Received {
  readonly status: number;
  readonly text: string;
  readonly isJson: boolean;
  readonly tag?: string | undefined;
  readonly index?: string | undefined;
}

async function answerTo(api: Api, { method, path, headers, body, bytes }: RandomRequest): Promise<Received> {
  if (bytes !== undefined) return await answerToBytes(api.address, bytes);
  const { status, text, headers: given } = await api.request(method, path, { headers, body, token: null });
  const isPlain = text !== '' && given['content-encoding'] === undefined;
  return {
    status,
    text,
    isJson: isPlain && /^application\/(vnd\.api\+)?json\b/.test(given['content-type'] ?? ''),
    tag: given.etag,
    index: given['x-service-index']?.toString(),
  };
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
async function assertUnchanged({ state, usesWritten }: Api, snapshot: Snapshot, shown: string): Promise<void> {
  if (state.snapshot === snapshot) return;
  await usesWritten();
  for (const [table, { rows }] of state.snapshot.tables) {
    const before = snapshot.tables.get(table)?.rows;
    if (table.name === tokenUses.name || rows === before) continue;
    // A change that was undone in a commit with the use of a token leaves equal rows in a new tree.
    assert.deepEqual([...rows.entries()], [...(before?.entries() ?? [])], `${table.name}: ${shown}`);
  }
  const range = { from: auditKeyAt(snapshot.index + 1), limit: 1 };
  assert.deepEqual(await state.scan(auditLog, range, AbortSignal.timeout(10_000)), [], `audit log: ${shown}`);
}
