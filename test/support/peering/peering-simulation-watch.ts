/** What must hold in the peering simulation at every moment: looked at after every commit, and after every step of time. */

import { holderEntry, isCurrent, type Peering, peerings } from '../../../src/peering/record/record.ts';
import type { PresentedSecret } from '../../../src/peering/stream/accepting/exchange-secret.ts';
import type { SessionTimes, Side } from '../../../src/peering/stream/contract.ts';
import type { Clock } from '../../../src/state/clock/clock.ts';
import { isStateError } from '../../../src/state/errors.ts';
import type { Snapshot } from '../../../src/state/memory/snapshot.ts';
import type { DeepReadonly } from '../../../src/state/table.ts';
import { type CommitJudge, createCommitJudge } from './peering-simulation-commits.ts';
import { LEASE_MS, type SimulatedCluster, type SimulatedServer } from './simulated-cluster.ts';
import { type Heard, type SimulatedStream, streamOf } from './simulated-stream.ts';

/** How long a commit may take, and the noticing of it. */
const COMMIT_MS = 1_000;
/** How long after the death of its holder a record may be ACTIVE beyond the lease. */
const AFTER_LEASE_MS = 2_000;

export interface PeeringWatch {
  /** Looks at every commit that this server sees. */
  follow(server: SimulatedServer): void;
  /** Looks at what every server says now. @throws Error that names what does not hold */
  look(clusters: readonly SimulatedCluster[]): void;
  /** An establishment secret was taken. */
  readonly exchanged: (cluster: string, presented: PresentedSecret) => void;
  readonly judge: CommitJudge;
}

export function createPeeringWatch(
  clock: Clock,
  { heartbeatTimeoutMs }: SessionTimes,
  across: (cluster: SimulatedCluster) => Snapshot | undefined,
): PeeringWatch {
  const violations: string[] = [];
  const violated = (what: string): void => void violations.push(what);
  const spent = new Set<string>();
  /** By cluster, peering and epoch: the stream that the record means. */
  const streams = new Map<string, { readonly stream: SimulatedStream; readonly side: Side }>();
  /** By cluster, peering and epoch: since when a record is ACTIVE without anything that bears it out. */
  const baseless = new Map<string, number>();
  const judge = createCommitJudge({
    violated,
    across,
    heardOn: (cluster, peeringId, epoch) => heardOn(keyOf(cluster, peeringId, epoch)),
  });

  function heardOn(key: string): Heard | undefined {
    const held = streams.get(key);
    return held?.stream.heard[held.side];
  }

  async function followCommits(server: SimulatedServer): Promise<void> {
    for (;;) {
      try {
        for await (const change of server.state.changes(server.gone)) judge.commit(server, change);
        return;
      } catch (error) {
        if (!isStateError(error, 'fell-behind')) throw error;
      }
    }
  }

  function lookAtServer(server: SimulatedServer): void {
    const { cluster, live, state } = server;
    for (const { peeringId, epoch, session, side } of live.byPeering.values()) {
      const stream = streamOf(session.outgoing);
      if (stream !== undefined) streams.set(keyOf(cluster.name, peeringId, epoch), { stream, side });
    }
    for (const { row } of state.snapshot.all(peerings)) if (row.state === 'ACTIVE') lookAtActive(server, row);
  }

  /** ACTIVE means a message within the heartbeat timeout; without its server, it stands for the lease and a moment. */
  function lookAtActive({ cluster, address }: SimulatedServer, { id, name, stream }: DeepReadonly<Peering>): void {
    if (stream === undefined) {
      violated(`${address}: ${name} is ACTIVE without a stream`);
      return;
    }
    const key = keyOf(cluster.name, id, stream.epoch);
    const holder = cluster.servers.get(stream.node)?.live.holder();
    const isHeld = holder !== undefined && holderEntry(holder) === holderEntry(stream);
    const heard = heardOn(key);
    const nowMs = clock.monotonic();
    if (isHeld && heard !== undefined) {
      const silentMs = nowMs - heard.atMs;
      if (silentMs > heartbeatTimeoutMs + COMMIT_MS) {
        violated(`${address}: ${name} is ACTIVE by epoch ${stream.epoch} after ${silentMs} ms of silence`);
      }
      return;
    }
    const since = `${key} ${isHeld}`;
    const sinceMs = baseless.get(since) ?? nowMs;
    baseless.set(since, sinceMs);
    const longest = isHeld ? COMMIT_MS : LEASE_MS + AFTER_LEASE_MS;
    if (nowMs - sinceMs > longest) {
      violated(
        `${address}: ${name} is ACTIVE by epoch ${stream.epoch} of ${stream.node}, gone for ${nowMs - sinceMs} ms`,
      );
    }
  }

  /** Of all streams of a peering, wherever they are held, at most one counts. */
  function lookForTwo({ name, servers }: SimulatedCluster): void {
    const current = new Map<string, string>();
    for (const { address, live, state } of servers.values()) {
      for (const { peeringId, epoch } of live.byPeering.values()) {
        if (!isCurrent(state.snapshot.get(peerings, peeringId)?.row, epoch)) continue;
        const key = keyOf(name, peeringId, epoch);
        const other = current.get(key);
        if (other !== undefined) violated(`${address} and ${other} both hold the stream ${key}`);
        current.set(key, address);
      }
    }
  }

  return {
    judge,
    follow: (server) => void followCommits(server).catch((error: unknown) => violated(String(error))),
    look(clusters) {
      for (const cluster of clusters) {
        for (const server of cluster.servers.values()) lookAtServer(server);
        lookForTwo(cluster);
      }
      judge.settle();
      if (violations.length > 0) throw new Error(violations.join('\n'));
    },
    exchanged(cluster, { peerId, establishmentSecret }) {
      const key = `${cluster}/${peerId}/${establishmentSecret}`;
      if (spent.has(key)) violated(`the secret of a token was taken twice: ${key}`);
      spent.add(key);
    },
  };
}

const keyOf = (cluster: string, peeringId: string, epoch: number): string => `${cluster}/${peeringId}/${epoch}`;
