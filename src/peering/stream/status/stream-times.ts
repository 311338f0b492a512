/**
 * When each stream last sent, received and heard a heartbeat: exact for the streams of this server, as status rows for
 * those of others. Rows are packed, so that thousands of streams are a few keys of the store.
 */
import type { Clock } from '../../../state/clock/clock.ts';
import type { State } from '../../../state/state.ts';
import type { StreamClock, StreamTimes } from '../../peering-context.ts';
import { peerings } from '../../record/record.ts';
import type { MessageKind } from '../contract.ts';

/** Streams in one status row: some 20 KB of JSON. */
const PACK = 256;
/** How often changed rows are published; the store takes them at most every ten seconds anyway. */
const PUBLISH_MS = 5_000;
/** How long a picture of the times may be kept. */
const TICK_MS = 1_000;

/** Milliseconds since 1970: heartbeat, receive, send; 0 for never. */
type Times = [heartbeat: number, receive: number, send: number];

interface Entry {
  readonly times: Times;
  readonly pack: Pack;
}

interface Pack {
  readonly slot: string;
  readonly members: Map<string, Times>;
  changed: boolean;
}

export interface StreamTimeBoard extends StreamClock, Disposable {
  received(peeringId: string, kind: MessageKind): void;
  sent(peeringId: string): void;
}

/**
 * Keeps and publishes the times of this server's streams.
 * @param onRemoved called with peerings that had streams here and are gone
 */
export function createStreamTimes(state: State, clock: Clock, onRemoved: (peeringId: string) => void): StreamTimeBoard {
  const entries = new Map<string, Entry>();
  const packs: Pack[] = [];
  let tick = 0;
  let tickMs = Number.NEGATIVE_INFINITY;
  let changed = true;

  const entryOf = (peeringId: string): Entry => {
    let entry = entries.get(peeringId);
    if (entry === undefined) {
      const pack = packWithRoom();
      const times: Times = [0, 0, 0];
      pack.members.set(peeringId, times);
      entry = { times, pack };
      entries.set(peeringId, entry);
    }
    return entry;
  };
  const packWithRoom = (): Pack => {
    let pack = packs.find(({ members }) => members.size < PACK);
    if (pack === undefined) {
      pack = { slot: slotOf(packs.length), members: new Map(), changed: false };
      packs.push(pack);
    }
    return pack;
  };
  const note = (peeringId: string, ...which: readonly (0 | 1 | 2)[]): void => {
    const { times, pack } = entryOf(peeringId);
    for (const i of which) times[i] = clock.now();
    pack.changed = true;
    changed = true;
  };
  const forgetRemoved = (): void => {
    for (const [id, { pack }] of entries) {
      if (state.snapshot.get(peerings, id) !== undefined) continue;
      entries.delete(id);
      pack.members.delete(id);
      pack.changed = true;
      onRemoved(id);
    }
  };
  const publish = (): void => {
    forgetRemoved();
    for (const pack of packs) {
      if (!pack.changed) continue;
      pack.changed = false;
      state.status.publish(pack.slot, Object.fromEntries(pack.members));
    }
    cancel = clock.after(PUBLISH_MS, publish);
  };
  let cancel = clock.after(PUBLISH_MS, publish);

  return {
    received: (peeringId, kind) => (kind === 'heartbeat' ? note(peeringId, 0, 1) : note(peeringId, 1)),
    sent: (peeringId) => note(peeringId, 2),
    of(peeringId) {
      const known = [entries.get(peeringId)?.times, ...publishedTimes(state, peeringId)];
      return newest(known.filter((times) => times !== undefined));
    },
    get tick() {
      const nowMs = clock.monotonic();
      if ((changed || state.members.length > 1) && nowMs - tickMs >= TICK_MS) {
        tick += 1;
        tickMs = nowMs;
        changed = false;
      }
      return tick;
    },
    [Symbol.dispose]: () => cancel(),
  };
}

const slotOf = (pack: number): string => `peering-streams-${pack}`;

/** What other servers have said about a peering's stream. */
function publishedTimes(state: State, peeringId: string): Times[] {
  if (state.members.length < 2) return [];
  const found: Times[] = [];
  for (let pack = 0; ; pack += 1) {
    const rows = state.status.ofOthers(slotOf(pack));
    if (rows.size === 0) return found;
    for (const row of rows.values()) {
      const times = (row as Readonly<Record<string, Times>>)[peeringId];
      if (times !== undefined) found.push(times);
    }
  }
}

function newest(known: readonly Times[]): StreamTimes | undefined {
  if (known.length === 0) return undefined;
  const [heartbeatMs, receiveMs, sendMs] = [0, 1, 2].map((i) => Math.max(...known.map((times) => times[i] ?? 0)));
  return {
    ...(heartbeatMs ? { heartbeatMs } : {}),
    ...(receiveMs ? { receiveMs } : {}),
    ...(sendMs ? { sendMs } : {}),
  };
}
