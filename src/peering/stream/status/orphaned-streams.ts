/**
 * Resets peerings whose stream was held by a server that is no longer live ([PEER-80]). The background job waits for
 * SERVER_LOST_GRACE_MS, because the stream may move to another server.
 */
import { type Clock, sleep } from '../../../state/clock/clock.ts';
import type { Job } from '../../../state/jobs/placement.ts';
import { REMOVAL_BATCH_ROWS } from '../../../state/limits.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import type { State } from '../../../state/state.ts';
import { JOB_POLL_MS, SERVER_LOST_GRACE_MS } from '../../limits.ts';
import { type CurrentStream, holderEntry, peerings, streamLost } from '../../record/record.ts';

export function orphanedStreamsJob(state: State, clock: Clock): Job {
  return {
    name: 'orphaned-streams',
    async run(signal) {
      /** When each dead holder was first noticed, in monotonic milliseconds. */
      const deadSince = new Map<string, number>();
      while (!signal.aborted) {
        const dead = deadHolders(state);
        const nowMs = clock.monotonic();
        for (const holder of deadSince.keys())
          if (!dead.some((one) => holderEntry(one) === holder)) deadSince.delete(holder);
        for (const holder of dead) {
          const entry = holderEntry(holder);
          const sinceMs = deadSince.get(entry) ?? nowMs;
          deadSince.set(entry, sinceMs);
          if (nowMs - sinceMs >= SERVER_LOST_GRACE_MS) await resetPeeringsOf(state, holder, signal);
        }
        await sleep(clock, JOB_POLL_MS, signal);
      }
    },
  };
}

/** Resets the peerings of all dead holders without waiting, before a starting server serves requests. */
export async function resetOrphanedPeerings(state: State, signal: AbortSignal): Promise<void> {
  for (const holder of deadHolders(state)) await resetPeeringsOf(state, holder, signal);
}

function deadHolders({ liveNodes: members, snapshot }: State): CurrentStream[] {
  const live = new Set(members.map(({ name, incarnation }) => holderEntry({ node: name, incarnation })));
  return holders(snapshot).filter((holder) => !live.has(holderEntry(holder)));
}

/** Returns the holders in the records, with one index lookup per holder. */
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

async function resetPeeringsOf(state: State, holder: CurrentStream, signal: AbortSignal): Promise<void> {
  const reason = `the server "${holder.node}", which held the stream, is gone`;
  for (;;) {
    const resetCount = await state.write(
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
    if (resetCount < REMOVAL_BATCH_ROWS) return;
  }
}
