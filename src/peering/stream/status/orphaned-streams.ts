/**
 * Peerings whose stream was held by a server that is gone: nobody else would ever say that they are not ACTIVE. They
 * get a moment in which the stream may move to another server; whoever opens one makes this a no-op.
 */
import { type Clock, sleep } from '../../../state/clock/clock.ts';
import type { Job } from '../../../state/jobs/placement.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import type { State } from '../../../state/state.ts';
import { ORPHAN_GRACE_MS, ORPHAN_LOOK_MS, REMOVAL_BATCH_ROWS } from '../../limits.ts';
import { type CurrentStream, holderEntry, peerings, streamLost } from '../../record/record.ts';

/** Sets the peerings of dead servers back. */
export function orphanedStreamsJob(state: State, clock: Clock): Job {
  return {
    name: 'orphaned-streams',
    async run(signal) {
      /** By holder: since when, monotonic, it has been seen to be gone. */
      const goneSince = new Map<string, number>();
      while (!signal.aborted) {
        const dead = goneHolders(state);
        const nowMs = clock.monotonic();
        for (const holder of goneSince.keys())
          if (!dead.some((one) => holderEntry(one) === holder)) goneSince.delete(holder);
        for (const holder of dead) {
          const entry = holderEntry(holder);
          const sinceMs = goneSince.get(entry) ?? nowMs;
          goneSince.set(entry, sinceMs);
          if (nowMs - sinceMs >= ORPHAN_GRACE_MS) await setBack(state, holder, signal);
        }
        await sleep(clock, ORPHAN_LOOK_MS, signal);
      }
    },
  };
}

/** Before anybody can read here: what an earlier life of this server held is gone, and what servers held that died since. */
export async function setBackGoneStreams(state: State, signal: AbortSignal): Promise<void> {
  for (const holder of goneHolders(state)) await setBack(state, holder, signal);
}

function goneHolders({ members, snapshot }: State): CurrentStream[] {
  const live = new Set(members.map(({ name, incarnation }) => holderEntry({ node: name, incarnation })));
  return holders(snapshot).filter((holder) => !live.has(holderEntry(holder)));
}

/** Every life of a server that holds a stream, as the records say: one look-up each, however many streams it holds. */
function holders(reader: Reader): CurrentStream[] {
  const found: CurrentStream[] = [];
  let from = '';
  for (;;) {
    const stream = reader.first(peerings, 'holder', from)?.row.stream;
    if (stream === undefined) return found;
    found.push(stream);
    from = `${holderEntry(stream)}\uffff`;
  }
}

async function setBack(state: State, holder: CurrentStream, signal: AbortSignal): Promise<void> {
  const reason = `the server "${holder.node}", which held the stream, is gone`;
  for (;;) {
    const moved = await state.write(
      (tx) => {
        const batch = tx.list(peerings, 'holder', holderEntry(holder), { limit: REMOVAL_BATCH_ROWS });
        for (const { row } of batch) {
          const failing = { since: new Date(tx.now).toISOString(), reason };
          const lost = row.stream && streamLost(row, row.stream.epoch, failing);
          if (lost !== undefined) tx.put(peerings, lost);
        }
        return batch.length;
      },
      { signal },
    );
    if (moved < REMOVAL_BATCH_ROWS) return;
  }
}
