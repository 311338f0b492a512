/** Clients that write and read continuously while servers are killed, and check every response. */
import assert from 'node:assert/strict';
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { AuditEntryJson } from '../../../src/audit/read-audit.ts';
import type { Random } from '../random.ts';
import {
  type ConsistencyChecker,
  createConsistencyChecker,
  type Outcome,
  type Version,
} from './consistency-checker.ts';
import {
  type ObjectJson,
  type ObjectKind,
  PARTITIONS,
  replayAudit,
  subjectOf,
  TOKENS,
  versionsOf,
} from './load-objects.ts';
import { type Answer, send } from './server.ts';

export interface LoadOptions {
  /** The addresses of the servers. A client moves to the next address when a request fails. */
  readonly addresses: readonly string[];
  readonly token: string;
  readonly random: Random;
}

export interface LoadClients extends AsyncDisposable {
  /** Number of acknowledged writes so far. */
  readonly acknowledged: number;
  /** Number of finished writes per outcome. */
  readonly counts: ConsistencyChecker['counts'];
  /** Rejects when a client receives an inconsistent response. */
  readonly failure: Promise<never>;
  /** Stops all clients after their requests in flight. */
  stop(): Promise<void>;
  /** Compares all objects with the acknowledged writes and with the audit log. Every server must be up. */
  verify(): Promise<void>;
}

/** Pause between two requests of a client. It keeps the lists short, and many writes remain in flight. */
const PAUSE_MS = 10;
/** Pause after a failed request. */
const RETRY_PAUSE_MS = 20;
/** Exceeds the number of entries that any test writes, so that one response contains the whole audit log. */
const AUDIT_ENTRIES = 10_000;

/** Starts four writers of tokens, two of partitions, and per kind one reader and one client of blocking queries. */
export function startLoadClients(options: LoadOptions): LoadClients {
  const { addresses, token, random } = options;
  const agent = new http.Agent({ keepAlive: true });
  const checkers = new Map([TOKENS, PARTITIONS].map((kind) => [kind, createConsistencyChecker()]));
  // Every kind has a checker.
  const checkerOf = (kind: ObjectKind): ConsistencyChecker => checkers.get(kind) as ConsistencyChecker;
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);
  let isStopped = false;

  const to = (address: string) => (method: string, path: string, body?: unknown) =>
    send(agent, address, method, path, { token, body, headers: { accept: 'application/problem+json' } });

  const write = async (
    request: ReturnType<typeof to>,
    kind: ObjectKind,
    key: string,
    version: Version,
    id?: string,
  ): Promise<Answer | undefined> => {
    const settle = checkerOf(kind).beginWrite(key, version);
    try {
      const answer = await request(...kind.request(key, version, id));
      const outcome = outcomeOf(answer);
      settle(outcome);
      return outcome === 'acknowledged' ? answer : undefined;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      settle((error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'rejected' : 'unknown');
      return undefined;
    }
  };

  /** Writes objects of its own. It never writes an object again after a write that was not acknowledged. */
  const writer = async (kind: ObjectKind, name: string, source: Random): Promise<void> => {
    const own: WrittenObject[] = [];
    let at = source.below(addresses.length);
    for (let count = 0; !isStopped; count += 1) {
      const { key, id, next } = chooseWrite(own, `${name}-${count}`, source);
      const answer = await write(to(addresses[at % addresses.length] ?? ''), kind, key, next, id);
      if (answer === undefined) at += 1;
      else if (next !== 'none') own.push({ key, id: id ?? kind.idOf(answer), version: next });
      await delay(answer === undefined ? RETRY_PAUSE_MS : PAUSE_MS);
    }
  };

  /** Reads the whole list repeatedly, as a blocking query if `isBlocking`. */
  const reader = async (kind: ObjectKind, isBlocking: boolean, source: Random): Promise<void> => {
    // By address: a server that has just loaded may report a higher index than a server that followed the changes.
    const indexes = new Map<string, number>();
    let index = 0;
    let at = source.below(addresses.length);
    while (!isStopped) {
      const address = addresses[at % addresses.length] ?? '';
      const request = to(address);
      const check = isBlocking ? undefined : checkerOf(kind).beginRead();
      const query = isBlocking ? `?index=${index}&wait=1s` : '';
      const answer = await request('GET', `${kind.listPath}${query}`).catch(() => undefined);
      if (answer === undefined || answer.status === 503) {
        at += 1;
        await delay(RETRY_PAUSE_MS);
        continue;
      }
      assert.equal(answer.status, 200, answer.text);
      index = Number(answer.headers['x-service-index']);
      const last = indexes.get(address) ?? 0;
      assert.ok(index >= last, `the index of ${kind.listPath} at ${address} decreased from ${last} to ${index}`);
      indexes.set(address, index);
      check?.(versionsOf(kind, answer));
      await delay(PAUSE_MS);
    }
  };

  const clients = [
    ...[0, 1, 2, 3].map((at) => writer(TOKENS, `t${at}`, random.fork())),
    ...[0, 1].map((at) => writer(PARTITIONS, `p${at}`, random.fork())),
    ...[TOKENS, PARTITIONS].flatMap((kind) =>
      [false, true].map((isBlocking) => reader(kind, isBlocking, random.fork())),
    ),
  ];
  for (const client of clients) client.catch(failure.reject);

  const counts = (): Record<Outcome, number> => {
    const sum = { acknowledged: 0, rejected: 0, unknown: 0 };
    for (const checker of checkers.values())
      for (const outcome of ['acknowledged', 'rejected', 'unknown'] as const) sum[outcome] += checker.counts[outcome];
    return sum;
  };

  return {
    get acknowledged() {
      return counts().acknowledged;
    },
    get counts() {
      return counts();
    },
    failure: failure.promise,
    async stop() {
      isStopped = true;
      await Promise.all(clients);
    },
    async verify() {
      for (const address of addresses) {
        const request = to(address);
        const audit = await request('GET', `/v1/audit?limit=${AUDIT_ENTRIES}`);
        assert.equal(audit.status, 200, audit.text);
        const entries = audit.json<AuditEntryJson[]>();
        assert.ok(entries.length < AUDIT_ENTRIES, 'the response contains the whole audit log');
        const replayed = replayAudit(entries);
        for (const kind of [TOKENS, PARTITIONS]) {
          const check = checkerOf(kind).beginRead();
          const answer = await request('GET', kind.listPath);
          assert.equal(answer.status, 200, answer.text);
          check(versionsOf(kind, answer));
          const objects = answer.json<ObjectJson[]>();
          assert.deepEqual(
            new Map(objects.map((object) => [subjectOf(object), object])),
            new Map([...replayed].filter(([, { AccessorID }]) => (AccessorID !== undefined) === (kind === TOKENS))),
            'the listed objects result from the audit log',
          );
        }
      }
    },
    async [Symbol.asyncDispose]() {
      isStopped = true;
      await Promise.allSettled(clients);
      agent.destroy();
    },
  };
}

interface WrittenObject {
  readonly key: string;
  /** The ID in requests, if it is not the key. */
  readonly id: string | undefined;
  readonly version: number;
}

/** Chooses a new object, or removes one from `own` to update or delete it. */
function chooseWrite(
  own: WrittenObject[],
  newKey: string,
  source: Random,
): { readonly key: string; readonly id: string | undefined; readonly next: Version } {
  const chosen = source.chance(0.4) ? own.splice(source.below(own.length), 1)[0] : undefined;
  if (chosen === undefined) return { key: newKey, id: undefined, next: 0 };
  return { key: chosen.key, id: chosen.id, next: source.chance(0.4) ? 'none' : chosen.version + 1 };
}

/** Returns what the response proves: a 503 changed nothing, unless its code is `outcome-unknown` [V1-51]. */
function outcomeOf(answer: Answer): Outcome {
  if (answer.status === 200) return 'acknowledged';
  assert.equal(answer.status, 503, answer.text);
  const isProblem = answer.headers['content-type'] === 'application/problem+json';
  return isProblem && answer.json<{ code: string }>().code === 'outcome-unknown' ? 'unknown' : 'rejected';
}
