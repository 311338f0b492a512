/** The state that the peering simulation must reach after the faults end. */
import { type Peering, peerings } from '../../../../src/peering/record/record.ts';
import { acceptedSecrets, hashOf, links, tombstones } from '../../../../src/peering/record/secrets.ts';
import { authorityRow, trustedRoots } from '../../../../src/peering/trust/authority.ts';
import type { Snapshot } from '../../../../src/state/memory/snapshot.ts';
import type { DeepReadonly } from '../../../../src/state/table.ts';
import { secretOf } from './commit-checker.ts';
import type { SimulatedCluster, SimulatedServer } from './simulated-cluster.ts';
import { newestSnapshot, otherCluster, type Topology } from './topology.ts';

type Row = DeepReadonly<Peering>;

/** Returns what has not converged yet. */
export function convergenceProblems(topology: Topology): string[] {
  return topology.clusters.flatMap((cluster) => {
    const here = newestSnapshot(cluster);
    const there = newestSnapshot(otherCluster(topology, cluster));
    if (here === undefined || there === undefined) return [`a cluster has no server`];
    const recordProblems = here.all(peerings).flatMap(({ row }) => {
      const problem =
        row.role === 'dialing' ? dialingProblem(row, here, there) : acceptingProblem(row, here, there, topology);
      return problem === undefined ? [] : [`${cluster.name}: ${row.name} (${row.state}) ${problem}`];
    });
    const unreported = here
      .list(tombstones, 'role', 'dialing')
      .filter(({ row }) => row.link?.roots.includes(servedRoot(there)))
      .map(({ row }) => `${cluster.name}: the deletion of ${row.peeringId} is not reported yet`);
    return [...recordProblems, ...unreported, ...replicaProblems(cluster)];
  });
}

const replicaProblems = ({ name, servers }: SimulatedCluster): string[] => {
  const indexes = new Set([...servers.values()].map(({ state }) => state.snapshot.index));
  return indexes.size > 1 ? [`${name}: its servers have different indexes`] : [];
};

/** The CA root of the served certificate. A peer that was deleted does not receive its replacement [PEER-91]. */
const servedRoot = (snapshot: Snapshot): string => trustedRoots(authorityRow(snapshot))[0] ?? '';

function dialingProblem(row: Row, here: Snapshot, there: Snapshot): string | undefined {
  if (row.deletedAt !== undefined) return 'is not removed yet';
  if (row.state === 'TERMINATED') return undefined;
  const link = here.get(links, row.id)?.row;
  if (link === undefined || row.peer === undefined) return 'has no secret';
  const hash = hashOf(secretOf(link));
  const tombstone = there.get(tombstones, row.peer.id)?.row;
  if (tombstone?.hashes.includes(hash)) {
    return link.roots.includes(servedRoot(there)) ? 'was deleted by the other cluster' : undefined;
  }
  const secrets = there.get(acceptedSecrets, row.peer.id)?.row;
  const isKnown = secrets?.active === hash || secrets?.pending === hash;
  if (isKnown && row.state !== 'ACTIVE') return 'has a valid secret but is not ACTIVE';
  if (!isKnown && row.state === 'ACTIVE') return 'is ACTIVE with an invalid secret';
  const other = there.get(peerings, row.peer.id)?.row;
  const isSame = row.imported.join() === other?.exported.join() && row.exported.join() === other.imported.join();
  if (row.state === 'ACTIVE' && !isSame) return 'does not have the services that the peer exports';
  return undefined;
}

function acceptingProblem(row: Row, here: Snapshot, there: Snapshot, topology: Topology): string | undefined {
  if (row.deletedAt !== undefined) return 'is not removed yet';
  if (row.state === 'TERMINATED') return undefined;
  const secrets = here.get(acceptedSecrets, row.id)?.row;
  const { deletedSecrets } = topology.invariants.commits;
  const isDeleted = [secrets?.active, secrets?.pending].some((hash) => hash !== undefined && deletedSecrets.has(hash));
  const isReporting = there.list(tombstones, 'role', 'dialing').some(({ row: { link } }) => link?.peer.id === row.id);
  if (isDeleted && !isReporting) return 'was deleted by the other cluster, which no longer reports it';
  const dialing = there.list(peerings, 'role', 'dialing').find(({ row: other }) => {
    const link = there.get(links, other.id)?.row;
    const hash = link && other.peer?.id === row.id ? hashOf(secretOf(link)) : undefined;
    return hash !== undefined && (hash === secrets?.active || hash === secrets?.pending);
  });
  if (dialing !== undefined && row.state !== 'ACTIVE') return 'is dialed but not ACTIVE';
  if (dialing === undefined && row.state === 'ACTIVE') return 'is ACTIVE but not dialed';
  return undefined;
}

/** Counts resources of a server, to detect leaks after peerings have come and gone. */
export function resourceCounts({ clock, state, live, traffic }: SimulatedServer): Readonly<Record<string, number>> {
  return {
    timers: clock.timers,
    waiters: state.waiterCount,
    streams: live.count,
    live: live.byPeering.size,
    traffic: traffic.byPeering.size,
  };
}
