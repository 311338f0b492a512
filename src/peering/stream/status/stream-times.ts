/**
 * The times of the last heartbeat, receipt and send of each stream ([PEER-16], [PEER-17]). They are exact for the
 * streams of this server. Other servers publish theirs in status rows of many streams, so that they need few keys of
 * the store.
 */
import type { Clock } from '../../../state/clock/clock.ts';
import type { State } from '../../../state/state.ts';
import { peerings } from '../../record/record.ts';
import type { StreamTimes, StreamTimesSource } from '../../record/record-to-json.ts';
import type { MessageKind } from '../contract.ts';

/** Streams in one status row, which has about 20 KB of JSON. */
const STREAMS_PER_ROW = 256;
/** Interval at which changed rows are published. The store writes them at most every ten seconds. */
const PUBLISH_MS = 5_000;
/** Minimum time between two values of `tick`, which callers use to cache times. */
const TICK_MS = 1_000;

/** Milliseconds since 1970, or 0 for never. */
type Times = [heartbeat: number, receive: number, send: number];

interface Entry {
  readonly times: Times;
  readonly row: StatusRow;
}

interface StatusRow {
  readonly slot: string;
  readonly members: Map<string, Times>;
  changed: boolean;
}

export interface StreamTimesTracker extends StreamTimesSource, Disposable {
  received(peeringId: string, kind: MessageKind): void;
  sent(peeringId: string): void;
}

/** @param onRemoved called with the ID of each removed peering that had a stream here */
export function createStreamTimes(
  state: State,
  clock: Clock,
  onRemoved: (peeringId: string) => void,
): StreamTimesTracker {
  const entries = new Map<string, Entry>();
  const rows: StatusRow[] = [];
  let tick = 0;
  let tickMs = Number.NEGATIVE_INFINITY;
  let changed = true;

  const entryOf = (peeringId: string): Entry => {
    let entry = entries.get(peeringId);
    if (entry === undefined) {
      const row = rowWithRoom();
      const times: Times = [0, 0, 0];
      row.members.set(peeringId, times);
      entry = { times, row };
      entries.set(peeringId, entry);
    }
    return entry;
  };
  const rowWithRoom = (): StatusRow => {
    let row = rows.find(({ members }) => members.size < STREAMS_PER_ROW);
    if (row === undefined) {
      row = { slot: slotName(rows.length), members: new Map(), changed: false };
      rows.push(row);
    }
    return row;
  };
  const record = (peeringId: string, ...which: readonly (0 | 1 | 2)[]): void => {
    const { times, row } = entryOf(peeringId);
    for (const i of which) times[i] = clock.now();
    row.changed = true;
    changed = true;
  };
  const forgetRemoved = (): void => {
    for (const [id, { row }] of entries) {
      if (state.snapshot.get(peerings, id) !== undefined) continue;
      entries.delete(id);
      row.members.delete(id);
      row.changed = true;
      onRemoved(id);
    }
  };
  const publish = (): void => {
    forgetRemoved();
    for (const row of rows) {
      if (!row.changed) continue;
      row.changed = false;
      state.status.publish(row.slot, Object.fromEntries(row.members));
    }
    cancel = clock.after(PUBLISH_MS, publish);
  };
  let cancel = clock.after(PUBLISH_MS, publish);

  return {
    received: (peeringId, kind) => (kind === 'heartbeat' ? record(peeringId, 0, 1) : record(peeringId, 1)),
    sent: (peeringId) => record(peeringId, 2),
    of(peeringId) {
      const known = [entries.get(peeringId)?.times, ...publishedTimes(state, peeringId)];
      return newest(known.filter((times) => times !== undefined));
    },
    get tick() {
      const nowMs = clock.monotonic();
      if ((changed || state.liveNodes.length > 1) && nowMs - tickMs >= TICK_MS) {
        tick += 1;
        tickMs = nowMs;
        changed = false;
      }
      return tick;
    },
    [Symbol.dispose]: () => cancel(),
  };
}

const slotName = (index: number): string => `peering-streams-${index}`;

/** Returns the times of a peering's stream that other servers have published. */
function publishedTimes(state: State, peeringId: string): Times[] {
  if (state.liveNodes.length < 2) return [];
  const found: Times[] = [];
  for (let index = 0; ; index += 1) {
    const rows = state.status.readOthers(slotName(index));
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
