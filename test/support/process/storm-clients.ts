/** Clients of a server that goes away and comes back: they write and read all the time, and check what they are told. */
import assert from 'node:assert/strict';
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ShownAuditEntry } from '../../../src/audit/read-audit.ts';
import type { Random } from '../random.ts';
import { replayAudit } from './audit-replay.ts';
import { createLedger, type Ledger, type Outcome, type Version } from './ledger.ts';
import { type Answer, send } from './server.ts';
import { type Document, type Kind, PARTITIONS, subjectOf, TOKENS, versionsOf } from './storm-things.ts';

export interface StormSettings {
  /** Where the servers are; each client goes to the next one when one is not there. */
  readonly addresses: readonly string[];
  readonly token: string;
  readonly random: Random;
}

export interface StormClients extends AsyncDisposable {
  /** Writes that were answered so far. */
  readonly done: number;
  readonly counts: Ledger['counts'];
  /** Rejects as soon as a client was told something that cannot be. */
  readonly failure: Promise<never>;
  /** Ends all clients, after their last requests. */
  stop(): Promise<void>;
  /** Compares everything with what was acknowledged, and with the audit log. The server must be there. */
  verify(): Promise<void>;
}

/** Pause between two requests of a client: enough writes are under way at any time, and the lists stay short. */
const PAUSE_MS = 10;
/** Pause after a request that nobody took. */
const AWAY_MS = 20;
/** More than any storm of a test makes, so that the audit log fits into one answer. */
const AUDIT_ENTRIES = 10_000;

/** Starts four writers of tokens, two of partitions, two readers and two that wait. */
export function startClients(settings: StormSettings): StormClients {
  const { addresses, token, random } = settings;
  const agent = new http.Agent({ keepAlive: true });
  const ledgers = new Map([TOKENS, PARTITIONS].map((kind) => [kind, createLedger()]));
  const ledgerOf = (kind: Kind): Ledger => ledgers.get(kind) as Ledger; // Made for every kind.
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);
  let stopped = false;

  const to = (address: string) => (method: string, path: string, body?: unknown) =>
    send(agent, address, method, path, { token, body, headers: { accept: 'application/problem+json' } });

  const write = async (
    request: ReturnType<typeof to>,
    kind: Kind,
    key: string,
    version: Version,
    id?: string,
  ): Promise<Answer | undefined> => {
    const settle = ledgerOf(kind).begin(key, version);
    try {
      const answer = await request(...kind.request(key, version, id));
      const outcome = outcomeOf(answer);
      settle(outcome);
      return outcome === 'done' ? answer : undefined;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      settle((error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'not-done' : 'unknown');
      return undefined;
    }
  };

  /** A writer leaves a thing alone for ever once it does not know what became of it. */
  const writer = async (kind: Kind, name: string, source: Random): Promise<void> => {
    const own: Thing[] = [];
    let at = source.below(addresses.length);
    for (let count = 0; !stopped; count += 1) {
      const { key, id, next } = chooseWrite(own, `${name}-${count}`, source);
      const answer = await write(to(addresses[at % addresses.length] ?? ''), kind, key, next, id);
      if (answer === undefined) at += 1;
      else if (next !== 'none') own.push({ key, id: id ?? kind.idOf(answer), version: next });
      await delay(answer === undefined ? AWAY_MS : PAUSE_MS);
    }
  };

  /** Reads the whole list, again and again; `waits`: as a blocking query. */
  const reader = async (kind: Kind, waits: boolean, source: Random): Promise<void> => {
    // By address: a server that has just loaded may tell a higher index than one that saw the changes.
    const indexes = new Map<string, number>();
    let index = 0;
    let at = source.below(addresses.length);
    while (!stopped) {
      const address = addresses[at % addresses.length] ?? '';
      const request = to(address);
      const compare = waits ? undefined : ledgerOf(kind).read();
      const query = waits ? `?index=${index}&wait=1s` : '';
      const answer = await request('GET', `${kind.listPath}${query}`).catch(() => undefined);
      if (answer === undefined || answer.status === 503) {
        at += 1;
        await delay(AWAY_MS);
        continue;
      }
      assert.equal(answer.status, 200, answer.text);
      index = Number(answer.headers['x-service-index']);
      const last = indexes.get(address) ?? 0;
      assert.ok(index >= last, `the index of ${kind.listPath} at ${address} went back from ${last} to ${index}`);
      indexes.set(address, index);
      compare?.(versionsOf(kind, answer));
      await delay(PAUSE_MS);
    }
  };

  const clients = [
    ...[0, 1, 2, 3].map((at) => writer(TOKENS, `t${at}`, random.fork())),
    ...[0, 1].map((at) => writer(PARTITIONS, `p${at}`, random.fork())),
    ...[TOKENS, PARTITIONS].flatMap((kind) => [false, true].map((waits) => reader(kind, waits, random.fork()))),
  ];
  for (const client of clients) client.catch(failure.reject);

  const counts = (): Record<Outcome, number> => {
    const sum = { done: 0, 'not-done': 0, unknown: 0 };
    for (const ledger of ledgers.values())
      for (const outcome of ['done', 'not-done', 'unknown'] as const) sum[outcome] += ledger.counts[outcome];
    return sum;
  };

  return {
    get done() {
      return counts().done;
    },
    get counts() {
      return counts();
    },
    failure: failure.promise,
    async stop() {
      stopped = true;
      await Promise.all(clients);
    },
    async verify() {
      for (const address of addresses) {
        const request = to(address);
        const audit = await request('GET', `/v1/audit?limit=${AUDIT_ENTRIES}`);
        assert.equal(audit.status, 200, audit.text);
        const entries = audit.json<ShownAuditEntry[]>();
        assert.ok(entries.length < AUDIT_ENTRIES, 'the whole log was read');
        const replayed = replayAudit(entries);
        for (const kind of [TOKENS, PARTITIONS]) {
          const compare = ledgerOf(kind).read();
          const answer = await request('GET', kind.listPath);
          assert.equal(answer.status, 200, answer.text);
          compare(versionsOf(kind, answer));
          const documents = answer.json<Document[]>();
          assert.deepEqual(
            new Map(documents.map((document) => [subjectOf(document), document])),
            new Map([...replayed].filter(([, { AccessorID }]) => (AccessorID !== undefined) === (kind === TOKENS))),
            'what is there is what the audit log says was made',
          );
        }
      }
    },
    async [Symbol.asyncDispose]() {
      stopped = true;
      await Promise.allSettled(clients);
      agent.destroy();
    },
  };
}

interface Thing {
  readonly key: string;
  /** What it is called in requests, where that is not its key. */
  readonly id: string | undefined;
  readonly version: number;
}

/** Makes a new thing, or takes one of `own` out, to be changed or removed. */
function chooseWrite(
  own: Thing[],
  newKey: string,
  source: Random,
): { readonly key: string; readonly id: string | undefined; readonly next: Version } {
  const chosen = source.chance(0.4) ? own.splice(source.below(own.length), 1)[0] : undefined;
  if (chosen === undefined) return { key: newKey, id: undefined, next: 0 };
  return { key: chosen.key, id: chosen.id, next: source.chance(0.4) ? 'none' : chosen.version + 1 };
}

/** What a writer may conclude from an answer. */
function outcomeOf(answer: Answer): Outcome {
  if (answer.status === 200) return 'done';
  assert.equal(answer.status, 503, answer.text);
  const isProblem = answer.headers['content-type'] === 'application/problem+json';
  return isProblem && answer.json<{ code: string }>().code === 'outcome-unknown' ? 'unknown' : 'not-done';
}
