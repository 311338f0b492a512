/**
 * Writes whose clients disconnect while a commit is in flight: no endpoint applies such a write. The first test fails
 * if a writing endpoint has no row.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { partitions } from '../../src/credentials/partition.ts';
import { sqliteEngine } from '../../src/state/engine/sqlite/engine.ts';
import { PENDING_BYTES_MAX, WRITE_BYTES_DEFAULT } from '../../src/state/limits.ts';
import type { WriteOptions } from '../../src/state/write/write-queue.ts';
import { mustRegister, mustRegisterWithAgent } from '../support/peering/catalog-requests.ts';
import { type Api, startApi } from '../support/process/api.ts';
import type { Answer } from '../support/process/server.ts';
import { type GatedEngine, gatedEngine } from '../support/state/gated-engine.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';

interface Row {
  /** Method and path pattern of the endpoint. */
  readonly endpoint: string;
  /** The values of the path parameters, in order. */
  readonly names?: readonly string[];
  /** A body with which the request would change the state. */
  readonly body?: unknown;
}

/** Endpoints with other methods than GET that never write. */
const READ_ONLY = ['PUT /v1/acl/bootstrap', 'POST /v1/config/preview', 'POST /v1/peering/check'];
const JSON_API = 'application/vnd.api+json';

describe('a write whose client has disconnected', () => {
  let api: Api;
  let gated: GatedEngine;
  let rows: readonly Row[];
  /** The options of each write that was queued for a client. */
  const queued: WriteOptions[] = [];
  const parts = new AsyncDisposableStack();

  before(async () => {
    const { path: directory } = parts.use(await temporaryDirectory());
    gated = gatedEngine(sqliteEngine({ directory }));
    const other = parts.use(await startApi());
    // Bodies in progress stay far below their own limit.
    api = parts.use(await startApi({ engine: gated.engine, bodies: 16 * PENDING_BYTES_MAX }));
    rows = await rowsFor(api, other);
    // The first use of a token causes a commit. Later uses do not.
    await sendRow(api, { endpoint: 'DELETE /api/v2/teams/:id', names: ['none'] }, new AbortController().signal);
    await api.usesWritten();
    const { state } = api;
    const write = state.write.bind(state);
    const writeInSlices = state.writeInSlices.bind(state);
    // Writes of background jobs have no signal.
    const note = (options: WriteOptions): void => {
      if (options.signal !== undefined) queued.push(options);
    };
    state.write = (fn, options = {}) => {
      note(options);
      return write(fn, options);
    };
    state.writeInSlices = (fn, options = {}) => {
      note(options);
      return writeInSlices(fn, options);
    };
  });
  after(() => parts.disposeAsync());

  test('is tested for every writing endpoint of /v1', () => {
    const missing = api.server.endpoints
      .map(({ method, path }) => `${method} ${path}`)
      .filter((name) => !name.startsWith('GET') && name.includes(' /v1/') && !READ_ONLY.includes(name))
      .filter((name) => rows.every(({ endpoint }) => endpoint !== name));
    assert.deepEqual(missing, []);
  });

  test('is not committed, and counts with the size of its body while it is pending [STATE-48]', async () => {
    gated.commit.close();
    const first = api.request('PUT', '/v1/partition/held', { body: {} });
    await until('a commit is in flight', () => gated.commit.waiting === 1);
    const { index } = api.state.snapshot;
    queued.length = 0;
    const disconnect = new AbortController();
    const requests = rows.map((row) => sendRow(api, row, disconnect.signal));
    await Promise.race([until('all writes are pending', () => queued.length === rows.length), ...requests]);
    const bytes = queued.map((options) => options.bytes ?? 0).sort((a, b) => a - b);
    const expected = rows.map((row) => WRITE_BYTES_DEFAULT + bodyOf(row).length).sort((a, b) => a - b);
    assert.deepEqual(bytes, expected);

    disconnect.abort();
    await Promise.allSettled(requests);
    await until('the server detects the disconnects', () => queued.every(({ signal }) => signal?.aborted));
    gated.commit.open();
    assert.equal((await first).status, 200);
    // This write follows all pending writes in the queue.
    await api.state.write(() => undefined);
    assert.equal(api.state.snapshot.index, index + 1);
  });

  test('counts towards the limit of 32 MiB for pending writes [STATE-110]', async () => {
    gated.commit.close();
    const first = api.request('PUT', '/v1/partition/held-again', { body: {} });
    await until('a commit is in flight', () => gated.commit.waiting === 1);
    queued.length = 0;
    const disconnect = new AbortController();
    // Spaces make the body large and not the row.
    const body = `{}${' '.repeat(1_000_000)}`;
    const names = Array.from(
      { length: Math.floor(PENDING_BYTES_MAX / (body.length + WRITE_BYTES_DEFAULT)) },
      (_, i) => `large-${i}`,
    );
    const requests = names.map((name) =>
      sendRow(api, { endpoint: 'PUT /v1/partition/:name', names: [name], body }, disconnect.signal),
    );
    await until('the queue is full', () => queued.length === names.length);
    const rejected = await api.request('PUT', '/v1/partition/late', { body });
    assert.equal(`${rejected.status} ${rejected.text}`, '503 too many writes are waiting: try again later');
    disconnect.abort();
    await Promise.allSettled(requests);
    await until('the server detects the disconnects', () =>
      queued.slice(0, names.length).every(({ signal }) => signal?.aborted),
    );
    gated.commit.open();
    assert.equal((await first).status, 200);
    assert.equal((await api.request('PUT', '/v1/partition/late', { body })).status, 200);
    const created = api.state.snapshot.all(partitions).map(({ row }) => row.name);
    assert.deepEqual(
      names.filter((name) => created.includes(name)),
      [],
    );
  });
});

/** Creates one object of each kind, and returns rows that each change one of them. */
async function rowsFor(api: Api, other: Api): Promise<readonly Row[]> {
  await api.makePartitions('old');
  const { AccessorID: accessor } = await api.makeToken([]);
  await mustRegister(api, { Node: 'n1' });
  await mustRegisterWithAgent(api, { Name: 'web', Check: { CheckID: 'alive', TTL: '1h' } });
  const entry = { Kind: 'exported-services', Name: 'default', Services: [] };
  await done(api, 'PUT', '/v1/config', entry);
  await done(api, 'POST', '/v1/peering/token', { PeerName: 'east' });
  const token = await done(other, 'POST', '/v1/peering/token', { PeerName: 'here' });
  const organization = {
    data: { type: 'organizations', attributes: { name: 'acme', email: 'a@example.com' } },
  };
  return [
    { endpoint: 'PUT /v1/acl/token', body: { Description: 'new' } },
    { endpoint: 'PUT /v1/acl/token/:accessor', names: [accessor], body: { Description: 'changed' } },
    { endpoint: 'DELETE /v1/acl/token/:accessor', names: [accessor] },
    { endpoint: 'PUT /v1/partition/:name', names: ['new'], body: {} },
    { endpoint: 'DELETE /v1/partition/:name', names: ['old'] },
    { endpoint: 'POST /v1/peering/token', body: { PeerName: 'west' } },
    { endpoint: 'POST /v1/peering/establish', body: { PeerName: 'north', ...(token as object) } },
    { endpoint: 'DELETE /v1/peering/:name', names: ['east'] },
    { endpoint: 'DELETE /v1/peering/:name/token', names: ['east'] },
    { endpoint: 'PUT /v1/catalog/register', body: { Node: 'n2', Address: '10.0.0.2' } },
    { endpoint: 'PUT /v1/catalog/deregister', body: { Node: 'n1' } },
    { endpoint: 'PUT /v1/agent/service/register', body: { Name: 'other' } },
    { endpoint: 'PUT /v1/agent/service/deregister/:id', names: ['web'] },
    ...['pass', 'warn', 'fail'].map((verb) => ({ endpoint: `PUT /v1/agent/check/${verb}/:id`, names: ['alive'] })),
    { endpoint: 'PUT /v1/config', body: { ...entry, Services: [{ Name: 'web', Consumers: [{ Peer: 'east' }] }] } },
    { endpoint: 'DELETE /v1/config/:kind/:name', names: ['exported-services', 'default'] },
    { endpoint: 'POST /api/v2/organizations', body: organization },
  ];
}

async function done(api: Api, method: string, path: string, body: unknown): Promise<unknown> {
  const answer = await api.request(method, path, { body });
  assert.equal(answer.status, 200, answer.text);
  return answer.json();
}

function sendRow(api: Api, row: Row, signal: AbortSignal): Promise<Answer> {
  const [method = '', pattern = ''] = row.endpoint.split(' ');
  const names = [...(row.names ?? [])];
  const path = pattern.replace(/:\w+/g, () => names.shift() ?? '');
  const body = bodyOf(row);
  const isTeamAccess = path.startsWith('/api/v2/');
  return api.request(method, path, {
    signal,
    ...(body.length > 0 && { body }),
    ...(isTeamAccess && {
      token: null,
      headers: { authorization: `Bearer ${api.adminToken}`, 'content-type': JSON_API },
    }),
  });
}

const bodyOf = ({ body }: Row): Buffer =>
  Buffer.from(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body));
