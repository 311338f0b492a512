/** Looks at both ends of the peerings: whether what each says is true, and whether each has what the other exports. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '../test/support/process/server.ts';
import type { Ask, Client } from './client.ts';
import { judgeRecord, type LinkFacts, type LookedAt } from './judge-record.ts';
import type { ClusterName, Kind } from './kinds/kind.ts';
import { AGREE_MS, CONVERGE_MS, IMPORT_MS, POLL_MS } from './limits.ts';
import type { Seat } from './seat.ts';
import type { Violations } from './violation.ts';
import { LINKS, type World } from './world.ts';

export interface EndsParts {
  readonly world: World;
  readonly client: Client;
  readonly violations: Violations;
  /** The kinds that are exported. */
  readonly exported: readonly Kind[];
  facts(): LinkFacts;
  /** Something while nothing is in the way and both ends have been up since; something else after the next disturbance. */
  quiet(): number | undefined;
  /** How long ends may disagree then; AGREE_MS unless given. */
  readonly agreeMs?: number;
}

export interface Ends {
  /** Looks at every record on every server once; while nothing is in the way, both ends have to be ACTIVE. */
  look(signal: AbortSignal): Promise<void>;
  /** Waits until every record is ACTIVE everywhere, and what was imported is what is exported. Nobody may write. */
  converge(signal: AbortSignal): Promise<void>;
}

interface Diff {
  readonly Comparable: boolean;
  readonly Differences: readonly { readonly Service: string; readonly Difference: string }[];
}

const other = (cluster: ClusterName): ClusterName => (cluster === 'a' ? 'b' : 'a');
const get = (path: string): Ask => ({ method: 'GET', path });

export function createEnds(parts: EndsParts): Ends {
  const { world, client, violations, exported, facts, quiet, agreeMs = AGREE_MS } = parts;
  /** Something is not as it must be yet: what was asked, where, what was answered, what is wanted. */
  interface Wanting {
    readonly asked: string;
    readonly where: string;
    readonly answered: string;
    readonly expected: string;
  }

  async function answerOf(seat: Seat, path: string, signal: AbortSignal): Promise<Answer | undefined> {
    const { outcome, answer, text } = await client.ask(seat, get(path), { label: 'peering ends', signal });
    if (outcome === 'refused') {
      const expected = 'an answer: it is there';
      violations.add({
        rule: 'a valid request is not refused',
        asked: `GET ${path}`,
        where: seat.name,
        answered: text,
        expected,
      });
    }
    return outcome === 'done' ? answer : undefined;
  }

  async function lookAt(seat: Seat, name: string, signal: AbortSignal): Promise<Answer | undefined> {
    const path = `/v1/peering/${name}`;
    const answer = await answerOf(seat, path, signal);
    if (answer === undefined) return undefined;
    const wrong = judgeRecord(answer.json<LookedAt>(), facts());
    if (wrong !== undefined) {
      const rule = 'ACTIVE means that there is a live stream';
      violations.add({ rule, asked: `GET ${path}`, where: seat.name, answered: answer.text, expected: wrong });
    }
    return answer;
  }

  const records = (): { seat: Seat; name: string }[] =>
    world.seats.flatMap((seat) => LINKS.map(({ names }) => ({ seat, name: names[seat.cluster] })));

  async function inactive(signal: AbortSignal): Promise<Wanting | undefined> {
    for (const { seat, name } of records()) {
      const answer = await lookAt(seat, name, signal);
      if (answer?.json<LookedAt>().State === 'ACTIVE') continue;
      const answered = answer?.text ?? 'nothing';
      return {
        asked: `GET /v1/peering/${name}`,
        where: seat.name,
        answered,
        expected: 'ACTIVE: nothing is in its way',
      };
    }
    return undefined;
  }

  /** The things of a list with their values, in the order of their keys. */
  async function listed(seat: Seat, kind: Kind, path: string, signal: AbortSignal): Promise<string | undefined> {
    const answer = await answerOf(seat, path, signal);
    if (answer === undefined) return undefined;
    const found = [...kind.readList(answer)].map(([key, { value }]) => `${key}:${value}`);
    return found.sort().join(' ');
  }

  /** Every list of what is exported, beside where it is exported from and where it is imported. */
  const imports = exported.flatMap((kind) =>
    Array.from({ length: kind.workers }, (_, worker) => kind.list(worker).path).flatMap((path) =>
      world.of(other(kind.cluster)).flatMap((seat) =>
        LINKS.map(({ names }) => ({
          kind,
          path,
          from: world.of(kind.cluster)[0] as Seat, // Every cluster has one.
          seat,
          asked: `${path}?peer=${names[seat.cluster]}`,
        })),
      ),
    ),
  );

  async function differing(signal: AbortSignal): Promise<Wanting | undefined> {
    for (const { kind, path, from, seat, asked } of imports) {
      const there = await listed(from, kind, path, signal);
      const here = await listed(seat, kind, asked, signal);
      if (here !== undefined && here === there) continue;
      const expected = `as ${from.name} has it: ${there}`;
      return { asked: `GET ${asked}`, where: seat.name, answered: here ?? 'nothing', expected };
    }
    return await differingDigest(signal);
  }

  async function differingDigest(signal: AbortSignal): Promise<Wanting | undefined> {
    for (const { seat, name } of records()) {
      const path = `/v1/peering/${name}/diff`;
      const answer = await answerOf(seat, path, signal);
      const diff = answer?.json<Diff>();
      if (diff !== undefined && diff.Differences.length === 0) continue;
      const answered = answer?.text ?? 'nothing';
      return { asked: `GET ${path}`, where: seat.name, answered, expected: 'no differences: nobody writes' };
    }
    return undefined;
  }

  /** Waits until nothing is wanting. @returns false: that took too long, and was told */
  async function untilRight(
    rule: string,
    wanting: (signal: AbortSignal) => Promise<Wanting | undefined>,
    ms: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const deadline = performance.now() + ms;
    for (;;) {
      const left = await wanting(signal);
      if (left === undefined || signal.aborted) return true;
      if (performance.now() > deadline) {
        violations.add({ rule, ...left });
        return false;
      }
      await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  return {
    async look(signal) {
      const before = quiet();
      const up = records().filter(({ seat }) => seat.isUp);
      await Promise.all(up.map(({ seat, name }) => lookAt(seat, name, signal)));
      if (before === undefined) return;
      // What was asked while a disturbance began says nothing.
      const disagreeing = async (): Promise<Wanting | undefined> => {
        const wanting = await inactive(signal);
        return quiet() === before ? wanting : undefined;
      };
      await untilRight('both ends are ACTIVE while nothing is in the way', disagreeing, agreeMs, signal);
    },
    async converge(signal) {
      const isUp = await untilRight('peerings come back by themselves', inactive, CONVERGE_MS, signal);
      if (isUp) await untilRight('what is imported is what is exported', differing, IMPORT_MS, signal);
    },
  };
}
