import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { createFakeClock, type FakeClock } from '../../../test/support/fake-clock.ts';
import { until } from '../../../test/support/until.ts';
import type { Engine } from '../../state/engine/engine.ts';
import { sqliteEngine } from '../../state/engine/sqlite/engine.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import { State } from '../../state/state.ts';
import { defineSchema, defineTable } from '../../state/table.ts';
import { rowTopic } from '../../state/watch/change-notifier.ts';
import { ServiceError } from '../errors.ts';
import { type ReceivedResponse, readAll, startTestServer, type TestServer } from '../server/test-server.suite.ts';
import {
  type BlockingQueries,
  type BlockingQueryOptions,
  createBlockingQueries,
  type ReadResult,
} from './blocking-query.ts';

interface Item {
  readonly name: string;
  readonly group: string;
  readonly value: string;
}

const items = defineTable<Item>()({
  name: 'item',
  key: (row) => row.name,
  formats: { version: 1 },
  indexes: { group: { entry: (row) => row.group, watched: true } },
});

interface Fixture extends AsyncDisposable {
  readonly server: TestServer;
  readonly state: State;
  readonly clock: FakeClock;
  readonly reads: BlockingQueries;
  put(name: string, value: string, group?: string): Promise<void>;
  /** Starts a request and resolves when its query waits. */
  startWaiting(url: string): Promise<{ readonly answer: Promise<ReceivedResponse> }>;
}

interface FixtureOptions extends Partial<BlockingQueryOptions> {
  readonly engine?: (engine: Engine) => Engine;
  /** Changes the result for one item. */
  readonly result?: (found: ReadResult, snapshot: Snapshot) => ReadResult;
}

/** Starts a server with `/v1/item/:name` (one row) and `/v1/items` (a cacheable list). */
async function open({
  engine = (e) => e,
  result = (found) => found,
  ...options
}: FixtureOptions = {}): Promise<Fixture> {
  const clock = createFakeClock();
  const directory = await mkdtemp(path.join(tmpdir(), 'accord-reads-'));
  const state = await State.open({
    engine: engine(sqliteEngine({ directory })),
    schema: defineSchema([items]),
    node: 'test',
    clock,
    rowsMax: 1_000,
    log: () => undefined,
  });
  const reads = createBlockingQueries({
    state,
    clock,
    random: () => 0,
    defaultPolicy: 'deny',
    staleMaxAgeMs: 600_000,
    waitingMax: 1_000,
    waitingPerTokenMax: 1_000,
    waitingPerAddressMax: 1_000,
    ...options,
  });
  const server = await startTestServer(
    [
      {
        method: 'GET',
        path: '/v1/item/:name',
        summary: 'One item',
        handle: (call) =>
          reads.answer(call, (snapshot) => {
            const name = String(call.params['name']);
            const watched = state.watchRow(items, name);
            const stored = snapshot.get(items, name);
            const missing = new ServiceError('not-found', `no item "${name}"`);
            return result(
              stored === undefined ? { watched, error: missing } : { watched, body: () => stored.row },
              snapshot,
            );
          }),
      },
      {
        method: 'GET',
        path: '/v1/items',
        summary: 'A group',
        handle: (call) =>
          reads.answer(
            call,
            (snapshot) => ({
              watched: [state.watchEntry(items, 'group', 'a')],
              body: () => snapshot.list(items, 'group', 'a').map(({ row }) => row),
            }),
            { cacheable: true },
          ),
      },
    ],
    { clock },
  );
  server.http.onStop(() => reads.drain());
  return {
    server,
    state,
    clock,
    reads,
    put: (name, value, group = 'a') => state.write((tx) => void tx.put(items, { name, group, value })),
    async startWaiting(url) {
      const before = reads.waitingCount;
      const answer = server.request(url);
      await until('the query waits', () => reads.waitingCount > before);
      return { answer };
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await state[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}

const indexOf = (got: ReceivedResponse): number => Number(got.headers['x-service-index']);

/** Whether a promise has settled, after 20 turns of the event loop. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  for (let turn = 0; turn < 20; turn++) await new Promise((next) => setImmediate(next));
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}

describe('a read', () => {
  it('returns the row as compact JSON, with the headers of reads [V1-35]', async () => {
    await using f = await open();
    await f.put('x', 'one');
    const got = await f.server.request('/v1/item/x');
    assert.equal(got.text, '{"name":"x","group":"a","value":"one"}');
    const { 'content-type': type, 'content-length': length } = got.headers;
    assert.deepEqual([got.status, type, length], [200, 'application/json', String(got.text.length)]);
    const own = Object.entries(got.headers).filter(([name]) => name.startsWith('x-service') || name === 'x-cache');
    assert.deepEqual(Object.fromEntries(own), {
      'x-service-index': String(f.state.snapshot.index),
      'x-service-knownleader': 'true',
      'x-service-lastcontact': '0',
      'x-service-effective-consistency': 'consistent',
      'x-service-default-acl-policy': 'deny',
    });
  });

  it('indents by 4 spaces and ends in a newline with pretty, with or without a value [V1-17] [V1-36]', async () => {
    await using f = await open();
    await f.put('x', 'one');
    for (const query of ['pretty', 'pretty=', 'pretty=false']) {
      const got = await f.server.request(`/v1/item/x?${query}`);
      assert.equal(got.text, '{\n    "name": "x",\n    "group": "a",\n    "value": "one"\n}\n');
    }
  });

  it('returns only headers for HEAD', async () => {
    await using f = await open();
    await f.put('x', 'one');
    const got = await f.server.request('/v1/item/x', { method: 'HEAD' });
    assert.deepEqual([got.status, got.text, indexOf(got) > 0], [200, '', true]);
  });

  it('returns 404 for a missing item, with an index above 0 that a query can wait with', async () => {
    await using f = await open();
    const got = await f.server.request('/v1/item/x');
    assert.deepEqual(
      [got.status, got.text, got.headers['content-type']],
      [404, 'no item "x"', 'text/plain; charset=utf-8'],
    );
    assert.ok(indexOf(got) >= 1);
    const { answer: appears } = await f.startWaiting(`/v1/item/x?index=${indexOf(got)}`);
    await f.put('x', 'one');
    assert.equal((await appears).status, 200);
  });

  it('sends a header when the result is filtered', async () => {
    await using f = await open({ result: (found) => ({ ...found, filtered: true }) });
    const got = await f.server.request('/v1/item/x');
    assert.equal(got.headers['x-service-results-filtered-by-acls'], 'true');
  });

  it('compresses large results if the client accepts gzip [V1-38]', async () => {
    await using f = await open();
    await f.put('small', 'x');
    await f.put('large', 'x'.repeat(5_000));
    await f.put('huge', 'x'.repeat(200_000));
    const headers = { 'accept-encoding': 'br, gzip;q=0.5' };
    assert.equal((await f.server.request('/v1/item/small', { headers })).headers['content-encoding'], undefined);
    for (const name of ['large', 'huge']) {
      const got = await f.server.request(`/v1/item/${name}`, { headers });
      assert.deepEqual([got.headers['content-encoding'], got.headers.vary], ['gzip', 'Accept-Encoding']);
      const plain = await f.server.request(`/v1/item/${name}`, { headers: { 'accept-encoding': 'gzip;q=0' } });
      assert.deepEqual([plain.headers['content-encoding'], plain.headers.vary], [undefined, 'Accept-Encoding']);
      assert.equal(gunzipSync(got.bytes).toString(), plain.text);
      assert.ok(indexOf(got) > 0);
    }
  });

  it('renders a shared result once for each snapshot', async () => {
    let made = 0;
    const result = (found: ReadResult): ReadResult => ({ ...found, shareKey: 'all', body: () => ({ made: ++made }) });
    await using f = await open({ result });
    await f.put('x', 'one');
    assert.equal((await f.server.request('/v1/item/x')).text, '{"made":1}');
    assert.equal((await f.server.request('/v1/item/x')).text, '{"made":1}');
    assert.equal((await f.server.request('/v1/item/x?pretty')).text, '{\n    "made": 2\n}\n');
    await f.put('y', 'one');
    assert.equal((await f.server.request('/v1/item/x')).text, '{"made":3}');
  });

  for (const [query, text] of [
    ['index=-1', 'Invalid index'], // [V1-70]
    ['index=1.5', 'Invalid index'],
    ['index=abc', 'Invalid index'],
    ['index=18446744073709551616', 'Invalid index'],
    ['wait=10', 'Invalid wait time'],
    ['wait=-1s', 'Invalid wait time'],
    ['wait=abc', 'Invalid wait time'],
    ['consistent&stale', 'Cannot specify ?stale with ?consistent, conflicting semantics.'], // [V1-63]
    ['consistent=1&cached', 'Cannot specify ?cached with ?consistent, conflicting semantics.'], // [V1-65]
  ] as const) {
    it(`rejects ${query}`, async () => {
      await using f = await open();
      const got = await f.server.request(`/v1/items?${query}`);
      assert.deepEqual([got.status, got.text], [400, text]);
    });
  }

  it('treats empty parameters as absent, and ignores cached unless the endpoint is cacheable [V1-16] [V1-64]', async () => {
    await using f = await open();
    for (const query of ['index=&wait=', 'index=0', 'consistent', 'cached&consistent']) {
      assert.equal((await f.server.request(`/v1/item/x?${query}`)).status, 404, query);
    }
  });
});

describe('a blocking query', () => {
  it('responds immediately when the result is newer [V1-69]', async () => {
    await using f = await open();
    await f.put('x', 'one');
    await f.put('x', 'two');
    const got = await f.server.request(`/v1/item/x?index=${f.state.snapshot.index - 1}`);
    assert.deepEqual([got.status, indexOf(got)], [200, f.state.snapshot.index]);
  });

  it('responds immediately when index exceeds the current index [V1-74]', async () => {
    await using f = await open();
    await f.put('x', 'one');
    for (const index of [f.state.snapshot.index + 1, '18446744073709551615']) {
      assert.equal((await f.server.request(`/v1/item/x?index=${index}`)).status, 200);
    }
  });

  it('waits for a change of a watched topic, and ignores other changes [V1-69] [V1-76]', async () => {
    await using f = await open();
    await f.put('x', 'one');
    const index = f.state.snapshot.index;
    const { answer: row } = await f.startWaiting(`/v1/item/x?index=${index}`);
    const { answer: list } = await f.startWaiting(`/v1/items?index=${index}`);
    await f.put('other', 'one', 'b');
    assert.equal(await settled(Promise.race([row, list])), false);
    await f.put('x', 'two');
    assert.deepEqual([(await row).text, indexOf(await row)], ['{"name":"x","group":"a","value":"two"}', index + 2]);
    assert.match((await list).text, /^\[.*two.*\]$/);
    assert.equal(f.reads.waitingCount, 0);
  });

  it('responds with the current result at the deadline, which includes the random share [V1-72] [V1-73]', async () => {
    await using f = await open({ random: () => 0.5 });
    await f.put('x', 'one');
    const index = f.state.snapshot.index;
    const { answer } = await f.startWaiting(`/v1/item/x?index=${index}&wait=160s`);
    await f.clock.run(164_999);
    assert.equal(await settled(answer), false);
    await f.clock.run(1);
    assert.deepEqual([(await answer).status, indexOf(await answer)], [200, index]);
    assert.equal(f.reads.waitingCount, 0);
  });

  for (const [query, waitMs] of [
    ['', 300_000],
    ['&wait=0s', 300_000],
    ['&wait=1h', 600_000],
    ['&wait=1m30s', 90_000],
    ['&wait=500ms', 500],
  ] as const) {
    it(`waits ${waitMs} ms with '${query}'`, async () => {
      await using f = await open();
      await f.put('x', 'one');
      const { answer } = await f.startWaiting(`/v1/item/x?index=${f.state.snapshot.index}${query}`);
      await f.clock.run(waitMs - 1);
      assert.equal(await settled(answer), false);
      await f.clock.run(1);
      assert.equal((await answer).status, 200);
    });
  }

  it('continues to wait with the same deadline when the result is not newer', async () => {
    const alsoWake = [rowTopic(items, 'token')];
    let evaluated = 0;
    const result = (found: ReadResult): ReadResult => {
      evaluated += 1;
      return { ...found, alsoWake };
    };
    await using f = await open({ result });
    await f.put('x', 'one');
    const { answer } = await f.startWaiting(`/v1/item/x?index=${f.state.snapshot.index}&wait=100s`);
    await f.clock.run(60_000);
    await f.put('token', 'changed', 'b');
    await until('it is evaluated again', () => evaluated === 2);
    assert.equal(f.reads.waitingCount, 1);
    await f.clock.run(39_999);
    assert.equal(await settled(answer), false);
    await f.clock.run(1);
    assert.equal((await answer).status, 200);
  });

  it('responds with the error of an evaluation, for example when the token was deleted [V1-78]', async () => {
    const result = (found: ReadResult, snapshot: Snapshot): ReadResult => {
      if (snapshot.get(items, 'token') === undefined) throw new ServiceError('permission-denied', 'ACL not found');
      return { ...found, alsoWake: [rowTopic(items, 'token')] };
    };
    await using f = await open({ result });
    await f.put('x', 'one');
    await f.put('token', 'good', 'b');
    const { answer } = await f.startWaiting(`/v1/item/x?index=${f.state.snapshot.index}`);
    await f.state.write((tx) => void tx.delete(items, 'token'));
    assert.deepEqual([(await answer).status, (await answer).text], [403, 'ACL not found']);
    assert.equal(f.reads.waitingCount, 0);
  });

  it("evaluates again when the caller's token expires", async () => {
    let expiresAtMs = 0;
    let now = (): number => 0;
    const result = (found: ReadResult): ReadResult => {
      if (now() >= expiresAtMs) throw new ServiceError('permission-denied', 'ACL not found');
      return { ...found, expiresAtMs };
    };
    await using f = await open({ result });
    now = () => f.clock.now();
    expiresAtMs = f.clock.now() + 30_000;
    await f.put('x', 'one');
    const { answer } = await f.startWaiting(`/v1/item/x?index=${f.state.snapshot.index}`);
    await f.clock.run(29_999);
    assert.equal(await settled(answer), false);
    await f.clock.run(1);
    assert.equal((await answer).status, 403);
  });

  it('stops waiting when the client disconnects [V1-82]', async () => {
    await using f = await open();
    await f.put('x', 'one');
    const index = f.state.snapshot.index;
    const socket = await f.server.connect();
    const one = `GET /v1/item/x?index=${index} HTTP/1.1\r\nHost: a\r\n\r\n`;
    socket.write(one + one + one);
    await until('the first one waits', () => f.reads.waitingCount > 0);
    assert.deepEqual([f.reads.waitingCount, f.state.waiterCount], [1, 1]);
    const closed = readAll(socket);
    socket.destroy();
    await until('no query is waiting', () => f.reads.waitingCount === 0);
    assert.equal(f.state.waiterCount, 0);
    assert.equal(await closed, '');
  });

  it('returns 429 past limits.waiting [SRV-58] [V1-80]', async () => {
    await using f = await open({ waitingMax: 2 });
    await f.put('x', 'one');
    const url = `/v1/item/x?index=${f.state.snapshot.index}`;
    const waiting = [await f.startWaiting(url), await f.startWaiting(url)];
    const got = await f.server.request(url);
    assert.deepEqual([got.status, got.text], [429, '2 queries are waiting already (limits.waiting)']);
    assert.equal((await f.server.request('/v1/item/x')).status, 200);
    await f.put('x', 'two');
    await Promise.all(waiting.map(({ answer }) => answer));
    const { answer: next } = await f.startWaiting(`/v1/item/x?index=${f.state.snapshot.index}`);
    await f.put('x', 'three');
    assert.equal((await next).status, 200);
  });

  it('returns 429 to a token past limits.waiting-per-token, but not to other tokens [SRV-58]', async () => {
    let waiterKey = 'one';
    await using f = await open({
      waitingPerTokenMax: 1,
      result: (found) => ({ ...found, waiter: { token: waiterKey, isOperator: () => false } }),
    });
    await f.put('x', 'one');
    const url = `/v1/item/x?index=${f.state.snapshot.index}`;
    const { answer: first } = await f.startWaiting(url);
    const got = await f.server.request(url);
    assert.deepEqual(
      [got.status, got.text],
      [429, '1 queries are waiting with this token already (limits.waiting-per-token)'],
    );
    waiterKey = 'two';
    const { answer: second } = await f.startWaiting(url);
    await f.put('x', 'two');
    await Promise.all([first, second]);
    const { answer: next } = await f.startWaiting(`/v1/item/x?index=${f.state.snapshot.index}`);
    await f.put('x', 'three');
    assert.equal((await next).status, 200);
  });

  it('returns 429 to an address past its share, but not to operators [SRV-117]', async () => {
    let operator = false;
    await using f = await open({
      waitingPerAddressMax: 1,
      result: (found) => ({ ...found, waiter: { token: 'any', isOperator: () => operator } }),
    });
    await f.put('x', 'one');
    const url = `/v1/item/x?index=${f.state.snapshot.index}`;
    const { answer: first } = await f.startWaiting(url);
    const got = await f.server.request(url);
    const text = '1 queries are waiting from this address already (limits.connections-per-address)';
    assert.deepEqual([got.status, got.text], [429, text]);
    operator = true;
    const { answer: second } = await f.startWaiting(url);
    await f.put('x', 'two');
    await Promise.all([first, second]);
  });

  it('keeps a tenth of limits.waiting for operators [SRV-109]', async () => {
    let operator = false;
    await using f = await open({
      waitingMax: 10,
      result: (found) => ({ ...found, waiter: { token: 'one', isOperator: () => operator } }),
    });
    await f.put('x', 'one');
    const url = `/v1/item/x?index=${f.state.snapshot.index}`;
    const answers: Promise<unknown>[] = [];
    for (let i = 0; i < 9; i++) answers.push((await f.startWaiting(url)).answer);
    const got = await f.server.request(url);
    assert.deepEqual([got.status, got.headers['retry-after']], [429, '1']);
    operator = true;
    answers.push((await f.startWaiting(url)).answer);
    assert.equal((await f.server.request(url)).status, 429);
    assert.deepEqual(f.reads.budget.measure()[0], { bound: 'total', used: 10, max: 10 });
    assert.deepEqual(f.reads.budget.refused.get('total'), 2);
    await f.put('x', 'two');
    await Promise.all(answers);
    assert.equal(f.reads.budget.used, 0);
  });

  it('responds with the current result when the server stops, in more than one slice [V1-83]', async () => {
    await using f = await open();
    await f.put('x', 'one');
    const url = `/v1/item/x?index=${f.state.snapshot.index}`;
    const answers = Array.from({ length: 300 }, () => f.server.request(url));
    await until('all wait', () => f.reads.waitingCount === 300);
    const stopped = f.server.http.stop(1_000);
    for (const got of await Promise.all(answers)) {
      assert.deepEqual([got.status, got.headers.connection], [200, 'close']);
    }
    await f.clock.run(100);
    await stopped;
    assert.equal(f.reads.waitingCount, 0);
  });
});

describe('a read without the store', () => {
  /** Returns an engine whose store never answers and has been silent for `silentMs`. */
  const silent =
    (silentMs: () => number) =>
    (engine: Engine): Engine => ({
      ...engine,
      exclusive: false,
      head: () => new Promise(() => undefined),
      lastContactMs: silentMs,
    });

  it('returns 503 for a consistent read after 3 seconds [STATE-55] [STATE-59] [V1-60]', async () => {
    let headReads = 0;
    const engine = (inner: Engine): Engine => ({
      ...silent(() => 60_000)(inner),
      head() {
        headReads += 1;
        return new Promise(() => undefined);
      },
    });
    await using f = await open({ engine });
    const before = headReads;
    const answer = f.server.request('/v1/items?consistent');
    await until('the head is read', () => headReads > before);
    await f.clock.run(2_999);
    assert.equal(await settled(answer), false);
    await f.clock.run(1);
    const got = await answer;
    assert.deepEqual([got.status, got.headers['retry-after']], [503, '1']);
  });

  // Verifies [STATE-60] [SRV-66].
  it('reports the store as unreachable after a consistent read failed, until the store answers [V1-67]', async () => {
    let silentMs = 4_000;
    await using f = await open({ engine: silent(() => silentMs) });
    const isKnown = async (): Promise<unknown> =>
      (await f.server.request('/v1/items?stale')).headers['x-service-knownleader'];
    assert.equal(await isKnown(), 'true');
    const answer = f.server.request('/v1/items?consistent');
    await until('the read has failed', async () => {
      await f.clock.run(1_000);
      return await settled(answer);
    });
    assert.equal((await answer).status, 503);
    assert.equal(await isKnown(), 'false', 'well before twelve seconds of silence');
    silentMs = 0;
    await f.clock.run(1);
    assert.equal(await isKnown(), 'true');
  });

  it('serves stale and cached reads, with headers that report it, up to stale.max-age [STATE-5] [V1-61] [V1-62]', async () => {
    let silentMs = 61_500;
    await using f = await open({ engine: silent(() => silentMs) });
    const stale = await f.server.request('/v1/items?stale');
    assert.equal(stale.status, 200);
    assert.equal(stale.headers['x-service-knownleader'], 'false');
    assert.equal(stale.headers['x-service-lastcontact'], '61500');
    assert.equal(stale.headers['x-service-effective-consistency'], 'stale');
    const cached = await f.server.request('/v1/items?cached');
    assert.deepEqual([cached.headers['x-cache'], cached.headers['age']], ['HIT', '61']);
    silentMs = 600_001;
    for (const query of ['stale', 'cached']) assert.equal((await f.server.request(`/v1/items?${query}`)).status, 503);
  });

  it('returns 503 for a waiting stale query when the store has been silent for too long', async () => {
    let silentMs = 0;
    await using f = await open({ engine: silent(() => silentMs) });
    const { answer } = await f.startWaiting(`/v1/items?stale&index=${Math.max(1, f.state.snapshot.index)}&wait=10s`);
    silentMs = 600_001;
    await f.clock.run(10_000);
    assert.equal((await answer).status, 503);
  });
});
