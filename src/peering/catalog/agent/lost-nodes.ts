/**
 * The background job for servers whose lease is lost. It marks the node of each such server, which makes all checks on
 * it critical without changing their rows, and clears the mark when the server returns ([SVC-58]). It removes services
 * with `DeregisterCriticalServiceAfter` after that time ([SVC-59]).
 */
import { type Clock, sleep } from '../../../state/clock/clock.ts';
import type { Job } from '../../../state/jobs/placement.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import type { State } from '../../../state/state.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { SERVER_LOST_GRACE_MS } from '../../limits.ts';
import { deleteService } from '../change-catalog.ts';
import { DEADLINE_POLL_MS } from '../limits.ts';
import { type CatalogNode, catalogNodes } from '../tables/catalog-node.ts';
import { catalogServiceKey, catalogServices } from '../tables/catalog-service.ts';
import { type TtlCheck, ttlCheckKey, ttlChecks } from '../tables/ttl-check.ts';
import { writeBatch } from './write-in-batches.ts';

type NodeRow = DeepReadonly<CatalogNode>;

type ClusterState = Pick<State, 'liveNodes' | 'snapshot' | 'write'>;

export function lostNodesJob(state: ClusterState, clock: Clock): Job {
  return {
    name: 'lost-nodes',
    async run(signal) {
      const goneForMs = trackAbsence(state, clock);
      while (!signal.aborted) {
        for (const server of agentsOf(state.snapshot)) await review(state, clock, server, goneForMs(server), signal);
        await sleep(clock, DEADLINE_POLL_MS, signal);
      }
    },
  };
}

/** @returns a function that returns how long a server has been missing, in milliseconds, or undefined if it is live */
function trackAbsence(state: ClusterState, clock: Clock): (server: string) => number | undefined {
  const goneSinceMs = new Map<string, number>();
  return (server) => {
    if (state.liveNodes.some(({ name }) => name === server)) {
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
  state: ClusterState,
  clock: Clock,
  server: string,
  goneForMs: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (goneForMs === undefined) await mark(state, server, false, signal);
  else if (goneForMs >= SERVER_LOST_GRACE_MS) {
    await mark(state, server, true, signal);
    await removeOverdue(state, server, clock.now(), signal);
  }
}

/** Returns the servers that have agent nodes. Costs one lookup per server, however many nodes it has. */
function agentsOf(reader: Reader): string[] {
  const withoutLost: string[] = [];
  for (let from = ''; ; ) {
    const agent = reader.first(catalogNodes, 'agent', from)?.row.agent;
    if (agent === undefined) return withoutLost;
    withoutLost.push(agent);
    from = `${agent}\uffff`;
  }
}

async function mark(state: ClusterState, server: string, isLost: boolean, signal: AbortSignal): Promise<void> {
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
          tx.put(catalogNodes, isLost ? { ...row, lostSinceMs: tx.now } : withoutLost(row));
        }
      },
      signal,
    );
  }
}

function withoutLost(row: NodeRow): NodeRow {
  const { lostSinceMs: _over, ...kept } = row;
  return kept;
}

/**
 * Removes the services on the server's nodes whose `DeregisterCriticalServiceAfter` passed since the server was lost.
 */
async function removeOverdue(state: ClusterState, server: string, nowMs: number, signal: AbortSignal): Promise<void> {
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
