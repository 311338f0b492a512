/**
 * Keeps what is known about the things of one worker: sends the requests that read and write them, and holds every answer
 * against it.
 */

import type { Answer } from '../test/support/process/server.ts';
import type { Random } from '../test/support/random.ts';
import type { Ask, Client, Place, Told } from './client.ts';
import type { Kind, Seen } from './kinds/kind.ts';
import { ABSENT, type Outcome } from './known.ts';
import { currentValue, expectedOf, newThing, noted, read, type Thing, written } from './thing.ts';
import type { Violations } from './violation.ts';

export interface KeeperParts {
  readonly kind: Kind;
  /** Which worker of its kind. */
  readonly worker: number;
  readonly client: Client;
  readonly violations: Violations;
  readonly random: Random;
  /** Milliseconds, monotonic. */
  now(): number;
}

/** A request and what came of it. */
interface Asked {
  readonly place: Place;
  readonly what: Ask;
  readonly told: { readonly text: string };
}

export interface Keeper {
  readonly things: readonly Thing[];
  /** Reads all of them at once. */
  readList(place: Place, signal: AbortSignal): Promise<Outcome>;
  /** Reads the thing at `at`: as part of the list where it has no id. */
  readOne(at: number, place: Place, signal: AbortSignal): Promise<Outcome>;
  /** Gives a thing another value, or takes it away. */
  write(at: number, value: string, place: Place, signal: AbortSignal): Promise<Outcome>;
  /** Asks for what must be refused. */
  refuse(at: number, place: Place, signal: AbortSignal): Promise<Outcome>;
  /** What an answer says; undefined, which is told, when it cannot be read as one. */
  understood<T>(place: Place, what: Ask, told: Told, understand: (answer: Answer) => T): T | undefined;
  /** Tells a violation, with what was done to the thing before. */
  violated(rule: string, asked: Asked, thing?: Thing): void;
  /** Another value than the thing has. */
  nextValue(at: number): string;
}

/** Makes one; nothing of what it keeps is there yet. */
export function createKeeper(parts: KeeperParts): Keeper {
  const { kind, worker, client, violations, random, now } = parts;
  const things = Array.from({ length: kind.keysPerWorker }, (_, at) => newThing(kind.key(worker, at)));
  let turn = 0;

  const keep = (at: number, thing: Thing, line: string): void => {
    things[at] = noted(thing, line);
  };
  const ask = (place: Place, what: Ask, label: string, signal: AbortSignal): Promise<Told> =>
    client.ask(place, what, { label: `${kind.name} ${label}`, signal });

  const violated = (rule: string, { place, what, told }: Asked, thing?: Thing): void =>
    violations.add({
      rule,
      asked: `${what.method} ${what.path}${what.body === undefined ? '' : ` ${JSON.stringify(what.body)}`}`,
      where: place.name,
      answered: told.text,
      expected: thing === undefined ? 'the answer of a service that works' : `${thing.key}: ${expectedOf(thing)}`,
      history: thing?.history ?? [],
    });

  /** What an answer says; undefined when it cannot be read as one. */
  function understood<T>(place: Place, what: Ask, told: Told, understand: (answer: Answer) => T): T | undefined {
    const { answer } = told;
    if (answer === undefined || (told.outcome !== 'done' && answer.status !== 404)) {
      if (told.outcome === 'refused') violated('a valid request is not refused', { place, what, told });
      return undefined;
    }
    try {
      return understand(answer);
    } catch {
      violated('an answer is what the API says', { place, what, told });
      return undefined;
    }
  }

  function compare(at: number, seen: Seen, { place, what, told }: { place: Place; what: Ask; told: Told }): void {
    const before = things[at] as Thing; // Of as many.
    const { thing, wrong } = read(before, seen, now());
    if (wrong) violated('a read shows what was acknowledged', { place, what, told }, before);
    const index = Number(told.answer?.headers['x-service-index'] ?? Number.POSITIVE_INFINITY);
    if (index < thing.index) {
      const { answer } = told;
      const text = `index ${index}: ${answer?.text}`;
      violated('an index is not below a change that was told', { place, what, told: { text } }, before);
    }
    keep(at, thing, `read ${seen.value}${seen.index === undefined ? '' : ` (index ${seen.index})`} at ${place.name}`);
  }

  async function readList(place: Place, signal: AbortSignal): Promise<Outcome> {
    const what = kind.list(worker);
    const told = await ask(place, what, 'list', signal);
    const found = understood(place, what, told, kind.readList);
    if (found === undefined) return told.outcome;
    for (const at of things.keys()) {
      const key = kind.key(worker, at);
      compare(at, found.get(key) ?? { value: ABSENT }, { place, what, told });
    }
    return told.outcome;
  }

  async function readOne(at: number, place: Place, signal: AbortSignal): Promise<Outcome> {
    const { key, id } = things[at] as Thing; // Of as many.
    const what = kind.read(key, id);
    if (what === undefined) return await readList(place, signal);
    const told = await ask(place, what, 'read', signal);
    const seen = understood(place, what, told, (answer) => kind.readOne(answer, key));
    if (seen !== undefined) compare(at, seen, { place, what, told });
    return told.outcome;
  }

  async function write(at: number, value: string, place: Place, signal: AbortSignal): Promise<Outcome> {
    const thing = things[at] as Thing; // Of as many.
    const what = value === ABSENT ? kind.remove(thing.key, thing.id) : kind.put(thing.key, value, thing.id);
    const told = await ask(place, what, value === ABSENT ? 'remove' : 'put', signal);
    const { outcome } = told;
    if (outcome === 'refused' && kind.isBusy?.(told.text) !== true) {
      violated('a valid request is not refused', { place, what, told }, thing);
    }
    const isShown = kind.putShows && outcome === 'done' && value !== ABSENT;
    const seen = isShown ? understood(place, what, told, (answer) => kind.readOne(answer, thing.key)) : undefined;
    if (seen !== undefined && seen.value !== value) {
      violated('a write answers with what was written', { place, what, told }, thing);
    }
    keep(
      at,
      written(thing, { value, outcome, seen, nowMs: now() }),
      `${value === ABSENT ? 'remove' : `put ${value}`} at ${place.name}: ${outcome}`,
    );
    return outcome;
  }

  async function refuse(at: number, place: Place, signal: AbortSignal): Promise<Outcome> {
    const thing = things[at] as Thing; // Of as many.
    const { ask: what, status } = random.pick(kind.refused(thing.key, thing.id));
    const told = await ask(place, what, 'refused', signal);
    const answered = told.answer !== undefined && told.outcome !== 'unavailable' && told.outcome !== 'unknown';
    if (answered && told.answer.status !== status)
      violated(`this is refused with ${status}`, { place, what, told }, thing);
    keep(at, thing, `refused at ${place.name}: ${told.answer?.status ?? told.text}`);
    return told.outcome;
  }

  function nextValue(at: number): string {
    const now = currentValue(things[at] as Thing);
    do turn += 1;
    while (kind.value(turn) === now);
    return kind.value(turn);
  }

  return { things, readList, readOne, write, refuse, understood, violated, nextValue };
}
