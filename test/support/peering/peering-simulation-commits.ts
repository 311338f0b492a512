/** What must hold in the peering simulation of every commit. */

import { createSecretStore } from '../../../src/peering/record/encrypted-secret.ts';
import { type Peering, peerings } from '../../../src/peering/record/record.ts';
import {
  type AcceptedSecrets,
  acceptedSecrets,
  hashOf,
  type Link,
  links,
  streamSecretPlace,
  type Tombstone,
  tombstones,
} from '../../../src/peering/record/secrets.ts';
import { type TrustBundle, trustBundles } from '../../../src/peering/record/trust-bundle.ts';
import type { Snapshot } from '../../../src/state/memory/snapshot.ts';
import type { DeepReadonly, Stored, Table } from '../../../src/state/table.ts';
import type { Change } from '../../../src/state/watch/change-feed.ts';
import type { SimulatedCluster, SimulatedServer } from './simulated-cluster.ts';
import type { Heard } from './simulated-stream.ts';

export interface CommitJudge {
  /** Looks at a commit that a server has seen; those of one server come in order. */
  commit(server: SimulatedServer, change: Change): void;
  /** Everything of this moment has happened: what could not be judged before is now. */
  settle(): void;
  /** Hashes of the stream secrets whose dialing side has deleted its record. */
  readonly secretsDeleted: ReadonlySet<string>;
}

export interface CommitJudgeParts {
  violated(what: string): void;
  /** What the other cluster shows now; undefined: nobody serves there. */
  across(cluster: SimulatedCluster): Snapshot | undefined;
  /** What came on the stream of this epoch; undefined: there was none. */
  heardOn(cluster: string, peeringId: string, epoch: number): Heard | undefined;
}

type Row = DeepReadonly<Peering>;
/** A row before and after a commit. */
interface Step<T> {
  readonly key: string;
  readonly before: Stored<T> | undefined;
  readonly after: Stored<T> | undefined;
}

export function createCommitJudge({ violated, heardOn, across }: CommitJudgeParts): CommitJudge {
  const secretsDeleted = new Set<string>();
  /** IDs of accepting records that were deleted. */
  const idsDeleted = new Set<string>();
  /** By cluster and ID: at which index the record was created. */
  const created = new Map<string, number>();
  /** By server, as each sees commits in its own time: hashes of stream secrets that were replaced. */
  const replaced = new Set<string>();
  let later: (() => void)[] = [];

  function lookAtRecord(server: SimulatedServer, step: Step<Peering>, linkPut: boolean): void {
    const { before, after, key } = step;
    const where = `${server.address}: ${after?.row.name ?? before?.row.name} (${key})`;
    if (after === undefined) {
      if (before !== undefined && before.row.state !== 'TERMINATED') violated(`${where} was removed without an end`);
      return;
    }
    if (before === undefined) lookAtNew(server, after, where);
    else lookAtChange(before, after, where, linkPut);
    const { state, stream, epoch } = after.row;
    if ((state === 'ACTIVE') !== (stream !== undefined)) violated(`${where} is ${state}, and its stream is not`);
    if (stream !== undefined && stream.epoch !== epoch) violated(`${where}: an older stream counts`);
  }

  function lookAtNew({ cluster }: SimulatedServer, { row, createIndex }: Stored<Peering>, where: string): void {
    const key = `${cluster.name}/${row.id}`;
    if ((created.get(key) ?? createIndex) !== createIndex) violated(`${where}: an ID was used again`);
    created.set(key, createIndex);
  }

  function lookAtChange(before: Stored<Peering>, after: Stored<Peering>, where: string, linkPut: boolean): void {
    const [old, now] = [before.row, after.row];
    if (now.epoch < old.epoch) violated(`${where}: the epoch fell`);
    if (after.modifyIndex <= before.modifyIndex) violated(`${where}: ModifyIndex did not grow`);
    if (old.deletedAt !== undefined && now.deletedAt !== old.deletedAt) violated(`${where}: DeletedAt has changed`);
    if (old.state === 'TERMINATED' && now.state !== 'TERMINATED' && !(linkPut && old.deletedAt === undefined)) {
      violated(`${where}: TERMINATED was not final`);
    }
    if (now.role !== old.role || now.name !== old.name) violated(`${where} is another peering now`);
  }

  /** A record ends because somebody deleted it: here, or the one at the other end of it. */
  function lookAtEnd(
    where: string,
    { before, after }: Step<Peering>,
    secrets: Step<AcceptedSecrets> | undefined,
  ): void {
    if (before === undefined || after?.row.state !== 'TERMINATED' || before.row.state === 'TERMINATED') return;
    const { role, id, deletedAt, peer } = after.row;
    if (deletedAt !== undefined) {
      if (role === 'accepting') idsDeleted.add(id);
      return;
    }
    const { active, pending } = secrets?.before?.row ?? {};
    const wasDeleted =
      role === 'dialing'
        ? peer !== undefined && idsDeleted.has(peer.id)
        : [active, pending].some((hash) => hash !== undefined && secretsDeleted.has(hash));
    if (!wasDeleted) violated(`${where}: TERMINATED, and nobody has deleted it`);
  }

  function lookAtSecrets({ address }: SimulatedServer, { key, before, after }: Step<AcceptedSecrets>): void {
    const where = `${address}: ${key}`;
    const [old, now] = [before?.row, after?.row];
    const seen = (hash: string): string => `${address} ${hash}`;
    if (now?.active !== undefined && replaced.has(seen(now.active)))
      violated(`${where}: a replaced stream secret counts`);
    if (old?.active !== undefined && now !== undefined && now.active !== old.active) replaced.add(seen(old.active));
    if (now?.active !== undefined && now.active !== old?.active) {
      if (now.active !== old?.pending) violated(`${where}: an active stream secret that was never pending`);
      if (now.pending !== undefined) violated(`${where}: a promoted stream secret is still pending`);
    }
  }

  /** What a stream brought came on the newest one. */
  function lookAtApplied(server: SimulatedServer, what: string, { id, name, stream }: Row): void {
    const where = `${server.address}: ${name}`;
    if (stream === undefined) {
      violated(`${where}: ${what} was applied without a stream`);
      return;
    }
    later.push(() => {
      const heard = heardOn(server.cluster.name, id, stream.epoch);
      if (heard !== undefined && !heard.what.has(what)) {
        violated(`${where}: ${what} was applied, and did not come on the stream of epoch ${stream.epoch}`);
      }
    });
  }

  /** A deletion is forgotten when the other side knows of it, or after 30 days. */
  function lookAtForgotten({ cluster, clock, address }: SimulatedServer, { before, after }: Step<Tombstone>): void {
    const link = before?.row.link;
    if (before === undefined || after !== undefined || link === undefined) return;
    if (Date.parse(before.row.until) <= clock.now()) return;
    const there = across(cluster);
    const row = there?.get(peerings, link.peer.id)?.row;
    if (there === undefined || row === undefined || row.state === 'TERMINATED') return;
    const { active, pending } = there.get(acceptedSecrets, row.id)?.row ?? {};
    const hash = hashOf(secretOf({ ...link, peeringId: before.row.peeringId }));
    if (hash !== active && hash !== pending) return;
    violated(`${address}: the deletion of ${before.row.peeringId} is forgotten, and ${row.name} there is ${row.state}`);
  }

  /** What a stream has changed in the record; establishing changes the same. */
  function lookAtBrought(server: SimulatedServer, { before, after }: Step<Peering>): void {
    if (before === undefined || after === undefined || after.row.state === 'TERMINATED') return;
    const [old, now] = [before.row, after.row];
    if (now.imported.join() !== old.imported.join()) lookAtApplied(server, `list:${now.imported.join()}`, now);
    const [from, to] = [old, now].map(({ peer }) => peer?.addresses.join());
    if (from !== to) lookAtApplied(server, `server-addresses:${to}`, now);
  }

  function lookAtBundle(server: SimulatedServer, { key, after }: Step<TrustBundle>): void {
    const row = server.state.snapshot.get(peerings, key)?.row;
    // By the time that the commit is looked at, another one may have ended the stream.
    if (after !== undefined && row?.stream !== undefined) lookAtApplied(server, `roots:${after.row.roots.join()}`, row);
  }

  return {
    secretsDeleted,
    commit(server, { changes }) {
      const of = <T>(table: Table<T, string>): Step<T>[] =>
        changes.filter((change) => change.table === table) as unknown as Step<T>[];
      const linkSteps = of<Link>(links);
      const secretSteps = of<AcceptedSecrets>(acceptedSecrets);
      for (const step of of<Peering>(peerings)) {
        const { key, after } = step;
        const link = linkSteps.find((one) => one.key === key);
        const linkGone = after?.row.deletedAt === undefined ? undefined : link?.before;
        if (linkGone !== undefined) secretsDeleted.add(hashOf(secretOf(linkGone.row)));
        const isEstablished = link?.after !== undefined;
        lookAtRecord(server, step, isEstablished);
        const secrets = secretSteps.find((one) => one.key === key);
        lookAtEnd(`${server.address}: ${after?.row.name} (${key})`, step, secrets);
        if (!isEstablished) lookAtBrought(server, step);
      }
      for (const step of of<Tombstone>(tombstones)) lookAtForgotten(server, step);
      for (const step of secretSteps) lookAtSecrets(server, step);
      for (const step of of<TrustBundle>(trustBundles)) lookAtBundle(server, step);
    },
    settle() {
      const judged = later;
      later = [];
      for (const judge of judged) judge();
    },
  };
}

const secrets = createSecretStore(undefined);

/** The stream secret in a link. */
export const secretOf = ({ peeringId, secret }: DeepReadonly<Link>): string =>
  secrets.open(secret, streamSecretPlace(peeringId));
