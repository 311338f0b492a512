/** A worker: writes the things that are its own, one request after another, and reads them wherever it likes. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../test/support/random.ts';
import { awaitChange } from './await-change.ts';
import type { Place } from './client.ts';
import { createKeeper, type KeeperParts } from './keeper.ts';
import type { Kind } from './kinds/kind.ts';
import { ABSENT, type Outcome } from './known.ts';
import { AWAY_MS } from './limits.ts';
import { currentValue, type Thing } from './thing.ts';

/** Who holds workers still, so that something can be compared that does not change meanwhile. */
export interface Gate {
  /** Resolves when the worker may go on. */
  pass(kind: Kind, signal: AbortSignal): Promise<void>;
}

export interface WorkerParts extends KeeperParts {
  /** The servers of the kind's cluster. */
  readonly places: readonly Place[];
  readonly gate: Gate;
  /** Between two requests, on average. */
  readonly pauseMs: number;
}

export interface Worker {
  /** Works until the signal. */
  run(signal: AbortSignal): Promise<void>;
  /** Reads everything on every server, once. */
  readAll(signal: AbortSignal): Promise<void>;
}

type Move = 'put' | 'remove' | 'read' | 'list' | 'refused' | 'await';
/** How often, of a hundred. */
const MOVES: readonly (readonly [move: Move, share: number])[] = [
  ['put', 40],
  ['remove', 12],
  ['read', 22],
  ['list', 12],
  ['refused', 6],
  ['await', 8],
];

/** Makes one. */
export function createWorker(parts: WorkerParts): Worker {
  const { kind, places, random, gate, pauseMs } = parts;
  const keeper = createKeeper(parts);
  const { things } = keeper;

  async function step(signal: AbortSignal): Promise<Outcome> {
    const at = random.below(things.length);
    const place = random.pick(places);
    const move = pickMove(random);
    const value = currentValue(things[at] as Thing); // Of as many.
    if (move === 'list') return await keeper.readList(place, signal);
    // What became of a lost write is not known yet: nothing is written on top of it.
    if (value === undefined || move === 'read') return await keeper.readOne(at, place, signal);
    if (move === 'refused') return await keeper.refuse(at, place, signal);
    if (move === 'await' && kind.waits) return await awaitChange({ ...parts, keeper }, at, signal);
    const next = move === 'remove' && value !== ABSENT ? ABSENT : keeper.nextValue(at);
    const outcome = await keeper.write(at, next, place, signal);
    // What was acknowledged by one server is seen on every other one at once.
    return outcome === 'done' ? await keeper.readOne(at, random.pick(places), signal) : outcome;
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        await gate.pass(kind, signal);
        if (signal.aborted) return;
        const outcome = await step(signal);
        const away = outcome === 'unavailable' || outcome === 'unknown';
        const ms = away ? AWAY_MS : pauseMs * 2 * random.next();
        await delay(ms, undefined, { signal }).catch(() => undefined);
      }
    },
    async readAll(signal) {
      for (const place of places) {
        await keeper.readList(place, signal);
        for (const at of things.keys()) await keeper.readOne(at, place, signal);
      }
    },
  };
}

function pickMove(random: Random): Move {
  let left = random.below(100);
  for (const [move, share] of MOVES) {
    if (left < share) return move;
    left -= share;
  }
  return 'put';
}
