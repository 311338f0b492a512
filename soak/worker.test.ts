/** Workers against a small service of partitions over real sockets, which is honest, or lies in one way. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../test/support/random.ts';
import { createClient } from './client.ts';
import { createIndexes } from './indexes.ts';
import { partitions } from './kinds/partition.ts';
import { TOLD_MS } from './limits.ts';
import { createTally } from './tally.ts';
import type { Violation } from './violation.ts';
import { createWorker } from './worker.ts';

/** Requests until a lie must have been told, and found. */
const REQUESTS = 400;

interface Row {
  readonly Name: string;
  readonly Description: string;
  readonly ModifyIndex: number;
}

/** What a lie changes; each is told now and then. */
interface Lies {
  /** A write is acknowledged and not done. */
  readonly loses?: boolean;
  /** A write answers with something else than was written. */
  readonly showsOther?: boolean;
  /** A read shows what was there before the last write. */
  readonly readsOld?: boolean;
  /** The index of an answer is lower than before. */
  readonly indexBack?: boolean;
  /** A request fails. */
  readonly fails?: boolean;
  /** What must be refused is refused, and done. */
  readonly doesRefused?: boolean;
  /** What must be refused is not. */
  readonly takesAll?: boolean;
  /** A valid write is refused. */
  readonly refusesValid?: boolean;
  /** A list leaves something out. */
  readonly forgetsInLists?: boolean;
  /** A query that waits is answered only when its time is over. */
  readonly sleeps?: boolean;
  /** What is answered is no JSON. */
  readonly babbles?: boolean;
}

interface Service extends AsyncDisposable {
  readonly address: string;
  readonly requests: number;
  /** Advanced by a service that answers late. */
  readonly aheadMs: number;
}

async function startService(lies: Lies): Promise<Service> {
  const rows = new Map<string, Row>();
  const before = new Map<string, Row | undefined>();
  const waiting = new Set<() => void>();
  let index = 10;
  let requests = 0;
  let aheadMs = 0;
  /** Every so many requests. */
  const nowAndThen = (lie: boolean | undefined): boolean => lie === true && requests % 7 === 0;

  const set = (name: string, Description: string | undefined): void => {
    index += 1;
    before.set(name, rows.get(name));
    if (Description === undefined) rows.delete(name);
    else rows.set(name, { Name: name, Description, ModifyIndex: index });
    for (const wake of waiting) wake();
    waiting.clear();
  };

  function write(name: string, method: string, text: string, token: unknown): [status: number, body: unknown] {
    const given = (text === '' ? {} : JSON.parse(text)) as { readonly Description?: unknown };
    const refusal = refusalOf(name, token, given.Description);
    const value = method === 'DELETE' ? undefined : String(given.Description);
    if (refusal !== undefined && !nowAndThen(lies.takesAll)) {
      if (lies.doesRefused === true && name !== 'default') set(name, value);
      return [refusal, {}];
    }
    if (nowAndThen(lies.refusesValid)) return [400, {}];
    if (!nowAndThen(lies.loses)) set(name, value);
    const Description = nowAndThen(lies.showsOther) ? 'something else' : value;
    return [200, { Name: name, Description, ModifyIndex: index }];
  }

  async function read(name: string, query: URLSearchParams): Promise<[status: number, body: unknown]> {
    const asked = Number(query.get('index') ?? 0);
    if (asked >= index) {
      await new Promise<void>((resolve) => waiting.add(resolve));
      if (lies.sleeps === true) {
        // The change has been acknowledged by then.
        await delay(100);
        aheadMs += TOLD_MS + 1;
      }
    }
    if (name === '') {
      const all = [...rows.values()];
      return [200, nowAndThen(lies.forgetsInLists) ? all.slice(1) : all];
    }
    const row = nowAndThen(lies.readsOld) && before.has(name) ? before.get(name) : rows.get(name);
    return row === undefined ? [404, {}] : [200, row];
  }

  const server = http.createServer(async (request, response) => {
    requests += 1;
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    const name = pathname.split('/')[3] ?? '';
    const { method = '', headers } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const isRead = method === 'GET';
    const [status, body] = isRead
      ? await read(name, searchParams)
      : write(name, method, text, headers['x-service-token']);
    response.writeHead(nowAndThen(lies.fails) ? 500 : status, {
      'x-service-index': nowAndThen(lies.indexBack) ? index - 1 : index,
    });
    response.end(nowAndThen(lies.babbles) && isRead ? 'nothing' : JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    get requests() {
      return requests;
    },
    get aheadMs() {
      return aheadMs;
    },
    async [Symbol.asyncDispose]() {
      for (const wake of waiting) wake();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Why a write is refused, as Accord does it; undefined: it is done. */
function refusalOf(name: string, token: unknown, description: unknown): number | undefined {
  if (token === undefined) return 403;
  if (name === 'default') return 409;
  return description === undefined || typeof description === 'string' ? undefined : 400;
}

/** What a worker finds before it has made so many requests. */
async function findings(lies: Lies, seed: number): Promise<readonly Violation[]> {
  await using service = await startService(lies);
  const ending = new AbortController();
  const found: Violation[] = [];
  const violations = {
    get count() {
      return found.length;
    },
    add: (violation: Violation): void => void found.push(violation),
  };
  const now = (): number => performance.now() + service.aheadMs;
  const parts = { tally: createTally(), violations, indexes: createIndexes(), faultCount: () => 0, now };
  using client = createClient(parts);
  const places = ['a1', 'a2'].map((name) => ({ name, cluster: 'a', address: service.address, token: 'secret' }));
  const gate = {
    async pass() {
      if (service.requests > REQUESTS || found.length > 0) ending.abort();
    },
  };
  const random = createRandom(seed);
  const worker = createWorker({
    kind: partitions,
    worker: 0,
    places,
    client,
    violations,
    random,
    gate,
    pauseMs: 0,
    now,
  });
  await worker.run(ending.signal);
  return found;
}

const LIES: readonly (readonly [what: string, lies: Lies, rule: RegExp])[] = [
  ['acknowledges a write and loses it', { loses: true }, /^a read shows what was acknowledged|^a query that waits/],
  ['answers a write with something else', { showsOther: true }, /^a write answers with what was written/],
  [
    'answers a read with what was there before',
    { readsOld: true },
    /^a read shows what was acknowledged|^a query that waits/,
  ],
  ['leaves something out of a list', { forgetsInLists: true }, /^a read shows what was acknowledged/],
  ['lets an index go back', { indexBack: true }, /^an index (never goes back|is not below a change that was told)/],
  ['fails by its own fault', { fails: true }, /^a server never fails by its own fault/],
  ['does what it refuses', { doesRefused: true }, /^a read shows what was acknowledged/],
  ['takes what must be refused', { takesAll: true }, /^this is refused with 4\d\d/],
  ['refuses what is valid', { refusesValid: true }, /^a valid request is not refused/],
  ['does not answer who waits when something changes', { sleeps: true }, /^a query that waits is answered when/],
  ['answers with something else than the API says', { babbles: true }, /^an answer is what the API says/],
];

describe('a worker', { concurrency: 4 }, () => {
  for (const seed of [1, 2, 3]) {
    test(`finds nothing wrong with a service that is honest, seed ${seed}`, async () => {
      assert.deepEqual(await findings({}, seed), []);
    });
  }

  for (const [what, lies, rule] of LIES) {
    test(`finds a service that ${what}`, async () => {
      const [first] = await findings(lies, 1);
      assert.match(first?.rule ?? 'nothing was found', rule);
      assert.ok(first !== undefined && first.asked !== '' && first.answered !== '' && first.where !== '');
    });
  }
});
