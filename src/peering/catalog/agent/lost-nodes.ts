/**
 * Services of a server whose lease is lost: nobody reports for them any more, so all their checks are critical until
 * the server is back, and what its checks say then is what they said before. One row says so, whatever is on the node.
 * Those with `DeregisterCriticalServiceAfter` go when they have been lost for that long.
 */
import { type Clock, sleep } from '../../../state/clock/clock.ts';
import type { Job } from '../../../state/jobs/placement.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import type { State } from '../../../state/state.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { deleteService } from '../change-catalog.ts';
import { DUE_LOOK_MS, LOST_GRACE_MS } from '../limits.ts';
import { type CatalogNode, catalogNodes } from '../tables/catalog-node.ts';
import { catalogServiceKey, catalogServices } from '../tables/catalog-service.ts';
import { type TtlCheck, ttlCheckKey, ttlChecks } from '../tables/ttl-check.ts';
import { writeBatch } from './write-in-batches.ts';

type NodeRow = DeepReadonly<CatalogNode>;

/** What the job looks at and changes. */
type Cluster = Pick<State, 'members' | 'snapshot' | 'write'>;

/** Marks the nodes of servers that are gone, and those that are back. */
export function lostNodesJob(state: Cluster, clock: Clock): Job {
  return {
    name: 'lost-nodes',
    async run(signal) {
      const goneForMs = watchGone(state, clock);
      while (!signal.aborted) {
        for (const server of agentsOf(state.snapshot)) await review(state, clock, server, goneForMs(server), signal);
        await sleep(clock, DUE_LOOK_MS, signal);
      }
    },
  };
}

/** @returns how long a server has been seen to be gone; undefined: it is there */
function watchGone(state: Cluster, clock: Clock): (server: string) => number | undefined {
  const goneSinceMs = new Map<string, number>();
  return (server) => {
    if (state.members.some(({ name }) => name === server)) {
      goneSinceMs.delete(server);
      return undefined;
    }
    const nowMs = clock.monotonic();
    const sinceMs = goneSinceMs.get(server) ?? nowMs;
    goneSinceMs.set(server, sinceMs);
    return nowMs - sinceMs;
  };
}

async function review(
  state: Cluster,
  clock: Clock,
  server: string,
  goneForMs: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (goneForMs === undefined) await mark(state, server, false, signal);
  else if (goneForMs >= LOST_GRACE_MS) {
    await mark(state, server, true, signal);
    await removeOverdue(state, server, clock.now(), signal);
  }
}

/** The servers with which something is, or was, registered: one look-up each, however many nodes they have. */
function agentsOf(reader: Reader): string[] {
  const found: string[] = [];
  for (let from = ''; ; ) {
    const agent = reader.first(catalogNodes, 'agent', from)?.row.agent;
    if (agent === undefined) return found;
    found.push(agent);
    from = `${agent}\uffff`;
  }
}

async function mark(state: Cluster, server: string, isLost: boolean, signal: AbortSignal): Promise<void> {
  const toMark = (reader: Reader): NodeRow[] =>
    reader
      .list(catalogNodes, 'agent', server)
      .map(({ row }) => row)
      .filter(({ lostSinceMs }) => (lostSinceMs !== undefined) !== isLost);
  while (toMark(state.snapshot).length > 0) {
    await writeBatch(
      state,
      (tx, countMax) => {
        for (const row of toMark(tx).slice(0, countMax)) {
          tx.put(catalogNodes, isLost ? { ...row, lostSinceMs: tx.now } : found(row));
        }
      },
      signal,
    );
  }
}

function found(row: NodeRow): NodeRow {
  const { lostSinceMs: _over, ...kept } = row;
  return kept;
}

/** Those whose own time is over first are seen to as all others are. */
async function removeOverdue(state: Cluster, server: string, nowMs: number, signal: AbortSignal): Promise<void> {
  for (const { row } of state.snapshot.list(catalogNodes, 'agent', server)) {
    while (overdueOn(state.snapshot, row.uid, nowMs).length > 0) {
      await writeBatch(state, (tx, countMax) => removeBatch(tx, row.uid, countMax), signal);
    }
  }
}

function removeBatch(tx: Transaction, uid: string, countMax: number): void {
  for (const { node, checkId, serviceId } of overdueOn(tx, uid, tx.now).slice(0, countMax)) {
    const stored = tx.get(catalogServices, catalogServiceKey(node, serviceId));
    if (stored !== undefined) deleteService(tx, stored);
    tx.delete(ttlChecks, ttlCheckKey(node, checkId));
  }
}

function overdueOn(reader: Reader, uid: string, nowMs: number): DeepReadonly<TtlCheck>[] {
  const lostSinceMs = reader.get(catalogNodes, uid)?.row.lostSinceMs;
  if (lostSinceMs === undefined) return [];
  return reader
    .list(ttlChecks, 'node', uid)
    .map(({ row }) => row)
    .filter(({ deregisterAfterMs }) => deregisterAfterMs !== undefined && lostSinceMs + deregisterAfterMs <= nowMs);
}
