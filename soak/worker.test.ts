/** Workers against a small partition service on real sockets that is correct, or has one bug. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../test/support/random.ts';
import { createClient } from './client.ts';
import { createIndexTracker } from './index-tracker.ts';
import { partitions } from './kinds/partition.ts';
import { NOTIFY_MS } from './limits.ts';
import { createRequestStats } from './request-stats.ts';
import type { Violation } from './violation-log.ts';
import { createWorker } from './worker.ts';

/** Requests after which a worker must have found the bug. */
const REQUESTS_MAX = 400;

interface Row {
  readonly Name: string;
  readonly Description: string;
  readonly ModifyIndex: number;
}

/** A bug of the service. Most affect one request in seven. */
type Bug =
  /** Acknowledges a write without applying it. */
  | 'lost-write'
  /** Returns another value than the written one. */
  | 'wrong-write-response'
  /** Returns the value before the last write. */
  | 'stale-read'
  | 'decreasing-index'
  | 'internal-error'
  /** Applies a write that it rejects. */
  | 'applied-rejection'
  /** Accepts an invalid write. */
  | 'missing-validation'
  /** Rejects a valid write. */
  | 'wrong-rejection'
  /** Omits a row from a list. */
  | 'incomplete-list'
  /** Answers a blocking query only when its wait has elapsed. */
  | 'missed-notification'
  /** Returns a body that is not JSON. */
  | 'invalid-json';

interface Service extends AsyncDisposable {
  readonly address: string;
  readonly requests: number;
  /** The time by which the service has advanced the worker's clock. */
  readonly advancedMs: number;
}

async function startService(bug: Bug | undefined): Promise<Service> {
  const rows = new Map<string, Row>();
  const previous = new Map<string, Row | undefined>();
  const waiting = new Set<() => void>();
  let index = 10;
  let requests = 0;
  let advancedMs = 0;
  const hits = (wanted: Bug): boolean => bug === wanted && requests % 7 === 0;

  const set = (name: string, Description: string | undefined): void => {
    index += 1;
    previous.set(name, rows.get(name));
    if (Description === undefined) rows.delete(name);
    else rows.set(name, { Name: name, Description, ModifyIndex: index });
    for (const wake of waiting) wake();
    waiting.clear();
  };

  function write(name: string, method: string, text: string, token: unknown): [status: number, body: unknown] {
    const fields = (text === '' ? {} : JSON.parse(text)) as { readonly Description?: unknown };
    const rejection = rejectionOf(name, token, fields.Description);
    const value = method === 'DELETE' ? undefined : String(fields.Description);
    if (rejection !== undefined && !hits('missing-validation')) {
      if (bug === 'applied-rejection' && name !== 'default') set(name, value);
      return [rejection, {}];
    }
    if (hits('wrong-rejection')) return [400, {}];
    if (!hits('lost-write')) set(name, value);
    const Description = hits('wrong-write-response') ? 'something else' : value;
    return [200, { Name: name, Description, ModifyIndex: index }];
  }

  async function read(name: string, query: URLSearchParams): Promise<[status: number, body: unknown]> {
    const since = Number(query.get('index') ?? 0);
    if (since >= index) {
      await new Promise<void>((resolve) => waiting.add(resolve));
      if (bug === 'missed-notification') {
        // Lets the acknowledgment of the change arrive first.
        await delay(100);
        advancedMs += NOTIFY_MS + 1;
      }
    }
    if (name === '') {
      const all = [...rows.values()];
      return [200, hits('incomplete-list') ? all.slice(1) : all];
    }
    const row = hits('stale-read') && previous.has(name) ? previous.get(name) : rows.get(name);
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
    response.writeHead(hits('internal-error') ? 500 : status, {
      'x-service-index': hits('decreasing-index') ? index - 1 : index,
    });
    response.end(hits('invalid-json') && isRead ? 'nothing' : JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    get requests() {
      return requests;
    },
    get advancedMs() {
      return advancedMs;
    },
    async [Symbol.asyncDispose]() {
      for (const wake of waiting) wake();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Returns the status with which Accord rejects such a write, or undefined if the write is valid. */
function rejectionOf(name: string, token: unknown, description: unknown): number | undefined {
  if (token === undefined) return 403;
  if (name === 'default') return 409;
  return description === undefined || typeof description === 'string' ? undefined : 400;
}

/** Runs a worker until its first violation, or for REQUESTS_MAX requests. Returns the violations. */
async function runWorker(bug: Bug | undefined, seed: number): Promise<readonly Violation[]> {
  await using service = await startService(bug);
  const stopping = new AbortController();
  const found: Violation[] = [];
  const violations = {
    get count() {
      return found.length;
    },
    add: (violation: Violation): void => void found.push(violation),
  };
  const now = (): number => performance.now() + service.advancedMs;
  using client = createClient({
    stats: createRequestStats(),
    violations,
    indexes: createIndexTracker(),
    faultCount: () => 0,
    now,
  });
  const targets = ['a1', 'a2'].map((name) => ({ name, cluster: 'a', address: service.address, token: 'secret' }));
  const gate = {
    async waitUntilResumed() {
      if (service.requests > REQUESTS_MAX || found.length > 0) stopping.abort();
    },
  };
  const random = createRandom(seed);
  const worker = createWorker({
    kind: partitions,
    worker: 0,
    targets,
    client,
    violations,
    random,
    gate,
    pauseMs: 0,
    now,
  });
  await worker.run(stopping.signal);
  return found;
}

const BUGS: readonly (readonly [what: string, bug: Bug, rule: RegExp])[] = [
  ['a lost write', 'lost-write', /^a read returns the acknowledged value|^a blocking query/],
  ['a wrong value in the response to a write', 'wrong-write-response', /^a write returns the written value/],
  ['a stale read', 'stale-read', /^a read returns the acknowledged value|^a blocking query/],
  ['an incomplete list', 'incomplete-list', /^a read returns the acknowledged value/],
  ['an index that decreases', 'decreasing-index', /^an index (never decreases|includes every observed change)/],
  ['an internal error', 'internal-error', /^a server never returns an internal error/],
  ['a rejected write that was applied', 'applied-rejection', /^a read returns the acknowledged value/],
  ['an invalid write that was accepted', 'missing-validation', /^an invalid request is rejected with 4\d\d/],
  ['a valid write that was rejected', 'wrong-rejection', /^a valid request is not rejected/],
  ['a blocking query that misses a change', 'missed-notification', /^a blocking query returns after a change/],
  ['a response that is not JSON', 'invalid-json', /^a response has the format of the API/],
];

describe('a worker', { concurrency: 4 }, () => {
  for (const seed of [1, 2, 3]) {
    test(`reports nothing for a correct service, seed ${seed}`, async () => {
      assert.deepEqual(await runWorker(undefined, seed), []);
    });
  }

  for (const [what, bug, rule] of BUGS) {
    test(`reports ${what}`, async () => {
      const [first] = await runWorker(bug, 1);
      assert.match(first?.rule ?? 'no violation', rule);
      assert.ok(first !== undefined && first.request !== '' && first.response !== '' && first.server !== '');
    });
  }
});
