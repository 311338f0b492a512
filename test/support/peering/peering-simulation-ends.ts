/** What the peering simulation must come to once the network is whole and nobody does anything any more. */
import { type Peering, peerings } from '../../../src/peering/record/record.ts';
import { acceptedSecrets, hashOf, links, tombstones } from '../../../src/peering/record/secrets.ts';
import { authorityOf, bundleOf } from '../../../src/peering/trust/authority.ts';
import type { Snapshot } from '../../../src/state/memory/snapshot.ts';
import type { DeepReadonly } from '../../../src/state/table.ts';
import { secretOf } from './peering-simulation-commits.ts';
import { newestPicture, otherCluster, type PeeringWorld } from './peering-simulation-world.ts';
import type { SimulatedCluster, SimulatedServer } from './simulated-cluster.ts';

type Row = DeepReadonly<Peering>;

/** What is not yet as it must be; empty in the end. */
export function unfinished(world: PeeringWorld): string[] {
  return world.clusters.flatMap((cluster) => {
    const here = newestPicture(cluster);
    const there = newestPicture(otherCluster(world, cluster));
    if (here === undefined || there === undefined) return [`a cluster has no server`];
    const found = here.all(peerings).flatMap(({ row }) => {
      const problem =
        row.role === 'dialing' ? dialingProblem(row, here, there) : acceptingProblem(row, here, there, world);
      return problem === undefined ? [] : [`${cluster.name}: ${row.name} (${row.state}) ${problem}`];
    });
    const untold = here
      .list(tombstones, 'role', 'dialing')
      .filter(({ row }) => row.link?.roots.includes(servedRoot(there)))
      .map(({ row }) => `${cluster.name}: the deletion of ${row.peeringId} is not told yet`);
    return [...found, ...untold, ...lagging(cluster)];
  });
}

const lagging = ({ name, servers }: SimulatedCluster): string[] => {
  const indexes = new Set([...servers.values()].map(({ state }) => state.snapshot.index));
  return indexes.size > 1 ? [`${name}: its servers do not show the same`] : [];
};

/** A root that is replaced after the accepting side has deleted a peering is not told to who dials it in vain. */
const servedRoot = (snapshot: Snapshot): string => bundleOf(authorityOf(snapshot))[0] ?? '';

function dialingProblem(row: Row, here: Snapshot, there: Snapshot): string | undefined {
  if (row.deletedAt !== undefined) return 'is not removed yet';
  if (row.state === 'TERMINATED') return undefined;
  const link = here.get(links, row.id)?.row;
  if (link === undefined || row.peer === undefined) return 'has no secret';
  const hash = hashOf(secretOf(link));
  const tombstone = there.get(tombstones, row.peer.id)?.row;
  if (tombstone?.hashes.includes(hash)) {
    return link.roots.includes(servedRoot(there)) ? 'was deleted by the other side' : undefined;
  }
  const secrets = there.get(acceptedSecrets, row.peer.id)?.row;
  const isKnown = secrets?.active === hash || secrets?.pending === hash;
  if (isKnown && row.state !== 'ACTIVE') return 'has a secret that the other side takes';
  if (!isKnown && row.state === 'ACTIVE') return 'has a secret that the other side does not take';
  const other = there.get(peerings, row.peer.id)?.row;
  const isSame = row.imported.join() === other?.exported.join() && row.exported.join() === other.imported.join();
  if (row.state === 'ACTIVE' && !isSame) return 'does not show the services that the other side exports';
  return undefined;
}

function acceptingProblem(row: Row, here: Snapshot, there: Snapshot, world: PeeringWorld): string | undefined {
  if (row.deletedAt !== undefined) return 'is not removed yet';
  if (row.state === 'TERMINATED') return undefined;
  const secrets = here.get(acceptedSecrets, row.id)?.row;
  const { secretsDeleted } = world.watch.judge;
  const isDeleted = [secrets?.active, secrets?.pending].some((hash) => hash !== undefined && secretsDeleted.has(hash));
  const isTrying = there.list(tombstones, 'role', 'dialing').some(({ row: { link } }) => link?.peer.id === row.id);
  if (isDeleted && !isTrying) return 'was deleted by the other side, which does not say so any more';
  const dialing = there.list(peerings, 'role', 'dialing').find(({ row: other }) => {
    const link = there.get(links, other.id)?.row;
    const hash = link && other.peer?.id === row.id ? hashOf(secretOf(link)) : undefined;
    return hash !== undefined && (hash === secrets?.active || hash === secrets?.pending);
  });
  if (dialing !== undefined && row.state !== 'ACTIVE') return 'is dialed';
  if (dialing === undefined && row.state === 'ACTIVE') return 'is dialed by nobody';
  return undefined;
}

/** How much a server holds: what may not grow with what comes and goes. */
export function sizesOf({ clock, state, live, traffic }: SimulatedServer): Readonly<Record<string, number>> {
  return {
    timers: clock.timers,
    waiters: state.waiterCount,
    streams: live.count,
    live: live.byPeering.size,
    traffic: traffic.byPeering.size,
  };
}
