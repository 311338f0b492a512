/** One client of all servers: sends requests, says what may be concluded, and checks what holds for every answer. */
import http from 'node:http';
import { type Answer, send } from '../test/support/process/server.ts';
import type { Indexes } from './indexes.ts';
import type { Outcome } from './known.ts';
import { ANSWER_MS } from './limits.ts';
import { linkedSignal } from './linked-signal.ts';
import type { Tally } from './tally.ts';
import type { Violations } from './violation.ts';

/** Where requests go: one server, whichever process it is at the moment. */
export interface Place {
  readonly name: string;
  readonly cluster: string;
  /** `http://127.0.0.1:…` */
  readonly address: string;
  /** A secret ID of an ACL token. */
  readonly token: string;
}

/** A request. */
export interface Ask {
  readonly method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** The place's own unless given; `null`: none. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How a request ended. */
export interface Told {
  readonly outcome: Outcome;
  /** What was answered; undefined when nothing was. */
  readonly answer: Answer | undefined;
  /** For reports: the status and the body, or the error. */
  readonly text: string;
}

export interface AskOptions {
  /** The line of the tally. */
  readonly label: string;
  readonly signal?: AbortSignal;
  /** Query parameters that make it wait; the index of the path without them is checked. */
  readonly waitFrom?: string;
  readonly answerMs?: number;
}

export interface Client extends Disposable {
  ask(place: Place, ask: Ask, options: AskOptions): Promise<Told>;
}

export interface ClientParts {
  readonly tally: Tally;
  readonly violations: Violations;
  readonly indexes: Indexes;
  /** Grows with every fault that begins or ends, and is odd while one is under way. */
  faultCount(): number;
  /** Milliseconds, monotonic. */
  now(): number;
}

const PROBLEM = { accept: 'application/problem+json' };

/** Opens it. */
export function createClient({ tally, violations, indexes, faultCount, now }: ClientParts): Client {
  const agent = new http.Agent({ keepAlive: true });

  /** What holds for every answer. */
  function check(answer: Answer, place: Place, asked: string, told: (index: number) => number | undefined): void {
    const report = (rule: string, expected: string, answered: string): void =>
      violations.add({ rule, asked, where: place.name, answered, expected });
    const { status, text } = answer;
    if (isServerFault(status)) {
      report('a server never fails by its own fault', 'no status of 500 and above but 503', `${status} ${text}`);
    }
    const index = Number(answer.headers['x-service-index'] ?? 0);
    const higher = index > 0 ? told(index) : undefined;
    if (higher !== undefined) report('an index never goes back', `at least ${higher}`, `index ${index}`);
  }

  return {
    async ask(place, asked, { label, signal, waitFrom, answerMs = ANSWER_MS }) {
      const told = indexes.begin(place.cluster, asked.path);
      const { method, body, token = place.token, headers = PROBLEM } = asked;
      const path = waitFrom === undefined ? asked.path : withQuery(asked.path, waitFrom);
      using linked = linkedSignal(signal, answerMs);
      const [startedMs, faultsBefore] = [now(), faultCount()];
      const options = { body, token, headers, signal: linked.signal };
      const answer = await send(agent, place.address, method, path, options).catch((error: Error) => error);
      const isAnswer = !(answer instanceof Error);
      const text = isAnswer ? `${answer.status} ${answer.text}` : `${answer.name}: ${answer.message}`;
      if (signal?.aborted === true) return { outcome: 'unknown', answer: undefined, text };
      const outcome = isAnswer ? outcomeOf(answer) : outcomeOfError(answer);
      const calm = faultsBefore % 2 === 0 && faultsBefore === faultCount();
      tally.add({ label, outcome, tookMs: now() - startedMs, calm });
      if (isAnswer) check(answer, place, `${method} ${path}`, told);
      return { outcome, answer: isAnswer ? answer : undefined, text };
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

const withQuery = (path: string, query: string): string => `${path}${path.includes('?') ? '&' : '?'}${query}`;

const isServerFault = (status: number): boolean => status >= 500 && status !== 503;

/** What a client may conclude from an answer. */
export function outcomeOf({ status, text }: Pick<Answer, 'status' | 'text'>): Outcome {
  if (status === 503) return /outcome[- ]unknown/.test(text) ? 'unknown' : 'unavailable';
  // A server that fails by its own fault has not said what it has done before.
  if (status >= 500) return 'unknown';
  return status < 400 ? 'done' : 'refused';
}

/** What a client may conclude when there is none: a connection that was never made carried nothing. */
function outcomeOfError(error: NodeJS.ErrnoException): Outcome {
  return error.code === 'ECONNREFUSED' ? 'unavailable' : 'unknown';
}
