/** Checks the invariants of every commit in the peering simulation. */
import { createSecretStore } from '../../../../src/peering/record/encrypted-secret.ts';
import { type Peering, peerings } from '../../../../src/peering/record/record.ts';
import {
  type AcceptedSecrets,
  acceptedSecrets,
  hashOf,
  type Link,
  links,
  streamSecretContext,
  type Tombstone,
  tombstones,
} from '../../../../src/peering/record/secrets.ts';
import { type TrustBundle, trustBundles } from '../../../../src/peering/record/trust-bundle.ts';
import type { Snapshot } from '../../../../src/state/memory/snapshot.ts';
import type { DeepReadonly, Stored, Table } from '../../../../src/state/table.ts';
import type { Change } from '../../../../src/state/watch/change-feed.ts';
import type { SimulatedCluster, SimulatedServer } from './simulated-cluster.ts';
import type { Received } from './simulated-stream.ts';

export interface CommitChecker {
  /** Checks a commit that `server` received. The commits of one server arrive in order. */
  check(server: SimulatedServer, change: Change): void;
  /** Runs the checks that need the messages of the current instant. Called when no event of it is left. */
  checkDeferred(): void;
  /** The hashes of stream secrets whose dialing record was deleted. */
  readonly deletedSecrets: ReadonlySet<string>;
}

export interface CommitCheckerOptions {
  report(violation: string): void;
  /** Returns the newest snapshot of the other cluster, or undefined when none of its servers runs. */
  otherSnapshot(cluster: SimulatedCluster): Snapshot | undefined;
  /** Returns what arrived on the stream of this epoch, or undefined when no such stream existed. */
  receivedOn(cluster: string, peeringId: string, epoch: number): Received | undefined;
}

type Row = DeepReadonly<Peering>;
/** A row before and after a commit. */
interface RowChange<T> {
  readonly key: string;
  readonly before: Stored<T> | undefined;
  readonly after: Stored<T> | undefined;
}

export function createCommitChecker({ report, receivedOn, otherSnapshot }: CommitCheckerOptions): CommitChecker {
  const deletedSecrets = new Set<string>();
  /** The IDs of deleted accepting records. */
  const deletedIds = new Set<string>();
  /** `CreateIndex` by cluster and ID. */
  const createIndexes = new Map<string, number>();
  /** Hashes of replaced stream secrets by server, because each server sees commits at its own time. */
  const replacedSecrets = new Set<string>();
  let deferred: (() => void)[] = [];

  function checkRecord(server: SimulatedServer, change: RowChange<Peering>, isEstablished: boolean): void {
    const { before, after, key } = change;
    const where = `${server.address}: ${after?.row.name ?? before?.row.name} (${key})`;
    if (after === undefined) {
      if (before !== undefined && before.row.state !== 'TERMINATED')
        report(`${where} was removed before it was TERMINATED`);
      return;
    }
    if (before === undefined) checkCreated(server, after, where);
    else checkUpdated(before, after, where, isEstablished);
    const { state, stream, epoch } = after.row;
    if ((state === 'ACTIVE') !== (stream !== undefined)) report(`${where} is ${state}, which contradicts its stream`);
    if (stream !== undefined && stream.epoch !== epoch) report(`${where}: the current stream is not the newest one`);
  }

  function checkCreated({ cluster }: SimulatedServer, { row, createIndex }: Stored<Peering>, where: string): void {
    const key = `${cluster.name}/${row.id}`;
    if ((createIndexes.get(key) ?? createIndex) !== createIndex) report(`${where}: an ID was reused [PEER-14]`);
    createIndexes.set(key, createIndex);
  }

  function checkUpdated(before: Stored<Peering>, after: Stored<Peering>, where: string, isEstablished: boolean): void {
    const [old, now] = [before.row, after.row];
    if (now.epoch < old.epoch) report(`${where}: the epoch decreased`);
    if (after.modifyIndex <= before.modifyIndex) report(`${where}: ModifyIndex did not increase`);
    if (old.deletedAt !== undefined && now.deletedAt !== old.deletedAt) report(`${where}: DeletedAt changed [PEER-66]`);
    if (old.state === 'TERMINATED' && now.state !== 'TERMINATED' && !(isEstablished && old.deletedAt === undefined)) {
      report(`${where}: TERMINATED was not final [PEER-24]`);
    }
    if (now.role !== old.role || now.name !== old.name) report(`${where}: the role or the name changed`);
  }

  /** Checks that a record becomes TERMINATED only after a deletion, here or in the other cluster [PEER-24]. */
  function checkTerminated(
    where: string,
    { before, after }: RowChange<Peering>,
    secrets: RowChange<AcceptedSecrets> | undefined,
  ): void {
    if (before === undefined || after?.row.state !== 'TERMINATED' || before.row.state === 'TERMINATED') return;
    const { role, id, deletedAt, peer } = after.row;
    if (deletedAt !== undefined) {
      if (role === 'accepting') deletedIds.add(id);
      return;
    }
    const { active, pending } = secrets?.before?.row ?? {};
    const wasDeleted =
      role === 'dialing'
        ? peer !== undefined && deletedIds.has(peer.id)
        : [active, pending].some((hash) => hash !== undefined && deletedSecrets.has(hash));
    if (!wasDeleted) report(`${where}: TERMINATED without a deletion`);
  }

  function checkSecrets({ address }: SimulatedServer, { key, before, after }: RowChange<AcceptedSecrets>): void {
    const where = `${address}: ${key}`;
    const [old, now] = [before?.row, after?.row];
    const serverHash = (hash: string): string => `${address} ${hash}`;
    if (now?.active !== undefined && replacedSecrets.has(serverHash(now.active)))
      report(`${where}: a replaced stream secret is active again`);
    if (old?.active !== undefined && now !== undefined && now.active !== old.active)
      replacedSecrets.add(serverHash(old.active));
    if (now?.active !== undefined && now.active !== old?.active) {
      if (now.active !== old?.pending) report(`${where}: the active stream secret was never pending`);
      if (now.pending !== undefined) report(`${where}: the promoted stream secret is still pending`);
    }
  }

  /** Checks that the content of a commit arrived on the current stream [PEER-76]. */
  function checkApplied(server: SimulatedServer, content: string, { id, name, stream }: Row): void {
    const where = `${server.address}: ${name}`;
    if (stream === undefined) {
      report(`${where}: ${content} was applied without a stream`);
      return;
    }
    deferred.push(() => {
      const received = receivedOn(server.cluster.name, id, stream.epoch);
      if (received !== undefined && !received.contents.has(content)) {
        report(`${where}: ${content} was applied but did not arrive on the stream of epoch ${stream.epoch}`);
      }
    });
  }

  /** Checks that a tombstone is removed only after confirmation or expiry [PEER-71] [PEER-74]. */
  function checkTombstoneRemoved(
    { cluster, clock, address }: SimulatedServer,
    { before, after }: RowChange<Tombstone>,
  ): void {
    const link = before?.row.link;
    if (before === undefined || after !== undefined || link === undefined) return;
    if (Date.parse(before.row.until) <= clock.now()) return;
    const there = otherSnapshot(cluster);
    const row = there?.get(peerings, link.peer.id)?.row;
    if (there === undefined || row === undefined || row.state === 'TERMINATED') return;
    const { active, pending } = there.get(acceptedSecrets, row.id)?.row ?? {};
    const hash = hashOf(secretOf({ ...link, peeringId: before.row.peeringId }));
    if (hash !== active && hash !== pending) return;
    const { peeringId } = before.row;
    report(`${address}: the tombstone of ${peeringId} was removed while ${row.name} of the peer is ${row.state}`);
  }

  /** Checks changes that only a stream makes. Not for commits of an establish, which changes the same fields. */
  function checkReceived(server: SimulatedServer, { before, after }: RowChange<Peering>): void {
    if (before === undefined || after === undefined || after.row.state === 'TERMINATED') return;
    const [old, now] = [before.row, after.row];
    if (now.imported.join() !== old.imported.join()) checkApplied(server, `list:${now.imported.join()}`, now);
    const [from, to] = [old, now].map(({ peer }) => peer?.addresses.join());
    if (from !== to) checkApplied(server, `server-addresses:${to}`, now);
  }

  function checkTrustBundle(server: SimulatedServer, { key, after }: RowChange<TrustBundle>): void {
    const row = server.state.snapshot.get(peerings, key)?.row;
    // A later commit may already have ended the stream.
    if (after !== undefined && row?.stream !== undefined) checkApplied(server, `roots:${after.row.roots.join()}`, row);
  }

  return {
    deletedSecrets,
    check(server, { changes }) {
      const of = <T>(table: Table<T, string>): RowChange<T>[] =>
        changes.filter((change) => change.table === table) as unknown as RowChange<T>[];
      const linkChanges = of<Link>(links);
      const secretChanges = of<AcceptedSecrets>(acceptedSecrets);
      for (const change of of<Peering>(peerings)) {
        const { key, after } = change;
        const link = linkChanges.find((other) => other.key === key);
        const deletedLink = after?.row.deletedAt === undefined ? undefined : link?.before;
        if (deletedLink !== undefined) deletedSecrets.add(hashOf(secretOf(deletedLink.row)));
        const isEstablished = link?.after !== undefined;
        checkRecord(server, change, isEstablished);
        const secrets = secretChanges.find((other) => other.key === key);
        checkTerminated(`${server.address}: ${after?.row.name} (${key})`, change, secrets);
        if (!isEstablished) checkReceived(server, change);
      }
      for (const change of of<Tombstone>(tombstones)) checkTombstoneRemoved(server, change);
      for (const change of secretChanges) checkSecrets(server, change);
      for (const change of of<TrustBundle>(trustBundles)) checkTrustBundle(server, change);
    },
    checkDeferred() {
      const checks = deferred;
      deferred = [];
      for (const check of checks) check();
    },
  };
}

const secrets = createSecretStore(undefined);

/** Decrypts the stream secret of a link. */
export const secretOf = ({ peeringId, secret }: DeepReadonly<Link>): string =>
  secrets.decrypt(secret, streamSecretContext(peeringId));
