/** Checks the invariants of the peering simulation after every commit and after every step of simulated time. */
import { holderEntry, isCurrent, type Peering, peerings } from '../../../../src/peering/record/record.ts';
import type { PresentedSecret } from '../../../../src/peering/stream/accepting/exchange-secret.ts';
import type { SessionTimes, Side } from '../../../../src/peering/stream/contract.ts';
import type { Clock } from '../../../../src/state/clock/clock.ts';
import { isStateError } from '../../../../src/state/errors.ts';
import type { Snapshot } from '../../../../src/state/memory/snapshot.ts';
import type { DeepReadonly } from '../../../../src/state/table.ts';
import { type CommitChecker, createCommitChecker } from './commit-checker.ts';
import { LEASE_MS, type SimulatedCluster, type SimulatedServer } from './simulated-cluster.ts';
import { type Received, type SimulatedStream, streamOf } from './simulated-stream.ts';

/** The longest time until a commit is durable and visible on all servers. */
const COMMIT_MS_MAX = 1_000;
/** How long a record can stay ACTIVE after the lease of a dead holder expired [PEER-30]. */
const TAKEOVER_MS_MAX = 2_000;

export interface InvariantChecker {
  /** Checks every commit that this server receives. */
  follow(server: SimulatedServer): void;
  /** Checks the current state of every server. @throws Error that lists the violations */
  check(clusters: readonly SimulatedCluster[]): void;
  /** Records that a cluster accepted an establishment secret. */
  readonly secretExchanged: (cluster: string, presented: PresentedSecret) => void;
  readonly commits: CommitChecker;
}

export function createInvariantChecker(
  clock: Clock,
  { heartbeatTimeoutMs }: SessionTimes,
  otherSnapshot: (cluster: SimulatedCluster) => Snapshot | undefined,
): InvariantChecker {
  const violations: string[] = [];
  const report = (violation: string): void => void violations.push(violation);
  const usedSecrets = new Set<string>();
  /** Streams by cluster, peering and epoch. */
  const streams = new Map<string, { readonly stream: SimulatedStream; readonly side: Side }>();
  /** The time since which a record is ACTIVE without a live stream, by cluster, peering and epoch. */
  const unconfirmedSince = new Map<string, number>();
  const commits = createCommitChecker({
    report,
    otherSnapshot,
    receivedOn: (cluster, peeringId, epoch) => receivedOn(keyOf(cluster, peeringId, epoch)),
  });

  function receivedOn(key: string): Received | undefined {
    const current = streams.get(key);
    return current?.stream.received[current.side];
  }

  async function followCommits(server: SimulatedServer): Promise<void> {
    for (;;) {
      try {
        for await (const change of server.state.changes(server.stopped)) commits.check(server, change);
        return;
      } catch (error) {
        if (!isStateError(error, 'fell-behind')) throw error;
      }
    }
  }

  function checkServer(server: SimulatedServer): void {
    const { cluster, live, state } = server;
    for (const { peeringId, epoch, session, side } of live.byPeering.values()) {
      const stream = streamOf(session.outgoing);
      if (stream !== undefined) streams.set(keyOf(cluster.name, peeringId, epoch), { stream, side });
    }
    for (const { row } of state.snapshot.all(peerings)) if (row.state === 'ACTIVE') checkActive(server, row);
  }

  /** Checks that an ACTIVE record has a stream that received a message within the timeout [PEER-23] [PEER-30]. */
  function checkActive({ cluster, address }: SimulatedServer, { id, name, stream }: DeepReadonly<Peering>): void {
    if (stream === undefined) {
      report(`${address}: ${name} is ACTIVE without a stream`);
      return;
    }
    const key = keyOf(cluster.name, id, stream.epoch);
    const holder = cluster.servers.get(stream.node)?.live.holder();
    const isHeld = holder !== undefined && holderEntry(holder) === holderEntry(stream);
    const received = receivedOn(key);
    const nowMs = clock.monotonic();
    if (isHeld && received !== undefined) {
      const silentMs = nowMs - received.atMs;
      if (silentMs > heartbeatTimeoutMs + COMMIT_MS_MAX) {
        report(`${address}: ${name} is ACTIVE by epoch ${stream.epoch} after ${silentMs} ms of silence`);
      }
      return;
    }
    const unconfirmedKey = `${key} ${isHeld}`;
    const sinceMs = unconfirmedSince.get(unconfirmedKey) ?? nowMs;
    unconfirmedSince.set(unconfirmedKey, sinceMs);
    const msMax = isHeld ? COMMIT_MS_MAX : LEASE_MS + TAKEOVER_MS_MAX;
    if (nowMs - sinceMs > msMax) {
      const deadMs = nowMs - sinceMs;
      report(`${address}: ${name} is ACTIVE by epoch ${stream.epoch} of ${stream.node}, dead for ${deadMs} ms`);
    }
  }

  /** Checks that at most one stream of a peering is current, over all servers of the cluster [PEER-75]. */
  function checkSingleStream({ name, servers }: SimulatedCluster): void {
    const current = new Map<string, string>();
    for (const { address, live, state } of servers.values()) {
      for (const { peeringId, epoch } of live.byPeering.values()) {
        if (!isCurrent(state.snapshot.get(peerings, peeringId)?.row, epoch)) continue;
        const key = keyOf(name, peeringId, epoch);
        const other = current.get(key);
        if (other !== undefined) report(`${address} and ${other} both hold the stream ${key}`);
        current.set(key, address);
      }
    }
  }

  return {
    commits,
    follow: (server) => void followCommits(server).catch((error: unknown) => report(String(error))),
    check(clusters) {
      for (const cluster of clusters) {
        for (const server of cluster.servers.values()) checkServer(server);
        checkSingleStream(cluster);
      }
      commits.checkDeferred();
      if (violations.length > 0) throw new Error(violations.join('\n'));
    },
    secretExchanged(cluster, { peerId, establishmentSecret }) {
      const key = `${cluster}/${peerId}/${establishmentSecret}`;
      if (usedSecrets.has(key)) report(`an establishment secret was accepted twice [PEER-43]: ${key}`);
      usedSecrets.add(key);
    },
  };
}

const keyOf = (cluster: string, peeringId: string, epoch: number): string => `${cluster}/${peeringId}/${epoch}`;
