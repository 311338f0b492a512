/**
 * Makes whole peerings between the clusters, one after another, and deletes them from either side: what was made comes up,
 * what was deleted is TERMINATED, here at once and on the other side as soon as it can be told.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../test/support/random.ts';
import type { Ask, Client, Told } from './client.ts';
import type { ClusterName } from './kinds/kind.ts';
import { AWAY_MS, POLL_MS, STAY_MS, TRAVEL_MS } from './limits.ts';
import type { Seat } from './seat.ts';
import type { Violations } from './violation.ts';
import { type World, waysTo } from './world.ts';

export interface TravellerParts {
  readonly world: World;
  readonly client: Client;
  readonly violations: Violations;
  readonly random: Random;
  /** Milliseconds, monotonic. */
  now(): number;
}

/** What is looked at in a record. */
interface Shown {
  readonly State: string;
  readonly DeletedAt?: string;
}

/** Names in turn: the record of the one before is gone, or going, when a name comes again. */
const NAMES = 4;
/** Refusals that pass: the name is still being removed, or held for an answer that was lost; the secret was spent by one. */
const TRY_AGAIN = /is being (deleted|established)|invalid peering establishment secret/;

/** Travels until the signal. */
export async function travel(parts: TravellerParts, signal: AbortSignal): Promise<void> {
  for (let journey = 0; !signal.aborted; journey += 1) {
    await oneJourney(parts, `soak-travel-${journey % NAMES}`, signal).catch((error: unknown) => {
      if (!(error instanceof JourneyEnd)) throw error;
    });
  }
}

/** A journey cannot go on: something was violated, which has been told, or the run is over. */
class JourneyEnd extends Error {
  override readonly name = 'JourneyEnd';
}

/** There is an answer; for a read, that there is nothing is one. */
const isAnswer = ({ method }: Ask, { outcome, answer }: Told): boolean =>
  outcome === 'done' || (method === 'GET' && answer?.status === 404);

const isRefusal = (ask: Ask, told: Told): boolean =>
  told.outcome === 'refused' && !isAnswer(ask, told) && !TRY_AGAIN.test(told.text);

async function oneJourney(parts: TravellerParts, name: string, signal: AbortSignal): Promise<void> {
  const { world, client, violations, random, now } = parts;
  const [accepting, dialing]: readonly ClusterName[] = random.chance(0.5) ? ['a', 'b'] : ['b', 'a'];
  if (accepting === undefined || dialing === undefined) return;
  const path = `/v1/peering/${name}`;

  function violated(rule: string, ask: Ask, seat: Seat, answered: string, expected: string): JourneyEnd {
    const asked = `${ask.method} ${ask.path}`;
    violations.add({ rule, asked, where: seat.name, answered, expected });
    return new JourneyEnd();
  }

  /** Asks any server of the cluster, again and again, until `fits`. */
  async function insist(
    cluster: ClusterName,
    ask: Ask,
    { rule, expected, fits = () => true }: { rule: string; expected: string; fits?: (told: Told) => boolean },
  ): Promise<Told> {
    const deadlineMs = now() + TRAVEL_MS;
    for (;;) {
      const seat = random.pick(world.of(cluster));
      const told = await client.ask(seat, ask, { label: `travelling ${ask.method}`, signal });
      if (signal.aborted) throw new JourneyEnd();
      if (isRefusal(ask, told)) throw violated('a valid request is not refused', ask, seat, told.text, expected);
      if (isAnswer(ask, told) && fits(told)) return told;
      if (now() > deadlineMs) throw violated(rule, ask, seat, told.text, `${expected}, within ${TRAVEL_MS / 1000} s`);
      await delay(told.outcome === 'done' ? POLL_MS : AWAY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  const recordFits =
    (fits: (record: Shown | undefined) => boolean) =>
    (told: Told): boolean =>
      fits(told.answer?.status === 200 ? told.answer.json<Shown>() : undefined);
  const read: Ask = { method: 'GET', path };

  /** Deleted, and every server of that cluster knows it at once. */
  async function remove(cluster: ClusterName): Promise<void> {
    const rule = 'a deleted peering is TERMINATED';
    await insist(cluster, { method: 'DELETE', path }, { rule, expected: 'it can be deleted' });
    for (const seat of world.of(cluster)) {
      const told = await client.ask(seat, read, { label: 'travelling GET', signal });
      if (signal.aborted) throw new JourneyEnd();
      if (told.outcome !== 'done') continue;
      const record = told.answer?.json<Shown>();
      if (record?.DeletedAt === undefined || record.State !== 'TERMINATED') {
        throw violated(rule, read, seat, told.text, 'TERMINATED with DeletedAt, or 404: its deletion was acknowledged');
      }
    }
  }

  await establish();
  for (const cluster of [accepting, dialing]) {
    const rule = 'a peering that was made comes up';
    await insist(cluster, read, { rule, expected: 'ACTIVE', fits: recordFits((record) => record?.State === 'ACTIVE') });
  }
  await delay(random.below(STAY_MS), undefined, { signal }).catch(() => undefined);
  const [first, second] = random.chance(0.5) ? [accepting, dialing] : [dialing, accepting];
  await remove(first);
  const isTold = recordFits((record) => record?.State === 'TERMINATED' && record.DeletedAt === undefined);
  const rule = 'the other side of a deleted peering is told';
  await insist(second, read, { rule, expected: 'TERMINATED without DeletedAt', fits: isTold });
  await remove(second);

  /** A token is spent once: where an answer is lost, it is made again. */
  async function establish(): Promise<void> {
    const rule = 'a peering can be made';
    const body = { PeerName: name, ServerExternalAddresses: waysTo(world, accepting as ClusterName) };
    const deadlineMs = now() + TRAVEL_MS;
    for (;;) {
      const generate: Ask = { method: 'POST', path: '/v1/peering/token', body };
      const made = await insist(accepting as ClusterName, generate, { rule, expected: 'a token' });
      const token = made.answer?.json<{ PeeringToken: string }>().PeeringToken;
      const seat = random.pick(world.of(dialing as ClusterName));
      const ask: Ask = {
        method: 'POST',
        path: '/v1/peering/establish',
        body: { PeerName: name, PeeringToken: token },
      };
      const told = await client.ask(seat, ask, { label: 'travelling POST', signal });
      if (signal.aborted) throw new JourneyEnd();
      if (told.outcome === 'done') return;
      if (now() > deadlineMs || isRefusal(ask, told)) throw violated(rule, ask, seat, told.text, 'it is established');
      await delay(AWAY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
