/**
 * What goes to which peer, for everybody on this server who needs to know: the streams, and the job that keeps the
 * records true. The state's changes are followed once for all of them, and each service is encoded once for all.
 *
 * A change becomes: the services that it touches, what they look like now, who gets them. That is done in bounded slices,
 * the first of them at once, so that one change is told in the turn of its commit and ten thousand do not stop the server.
 * What a follower asks for is decided by the picture of now, never by what it was told.
 */

import { partitionKey } from '../../credentials/partition.ts';
import type { Log } from '../../http/telemetry/log.ts';
import { type Clock, sleep } from '../../state/clock/clock.ts';
import { isStateError } from '../../state/errors.ts';
import { MEMO_ENTRY_BYTES } from '../../state/limits.ts';
import type { State } from '../../state/state.ts';
import type { Change } from '../../state/watch/change-feed.ts';
import { localServiceNames, servicesChangedBy } from '../catalog/query/local-instances.ts';
import { catalogEntry } from '../catalog/tables/catalog-node.ts';
import { configEntries } from '../config-entries/config-entry.ts';
import { exportedServicesKey, isExportedTo, type PeerOf } from '../config-entries/exported-services.ts';
import {
  createFollower,
  type Follower,
  isCurrent,
  namesOf,
  noteAnswer,
  registeredName,
  renewFollower,
  reviewService,
  type Told,
} from './follower.ts';
import { FOLLOW_AGAIN_MS, FOLLOWERS_A_TURN, SERVICES_A_TURN } from './limits.ts';
import { type Content, createContents } from './service-payloads.ts';

/** What one peer gets. */
export interface PeerExports {
  /** The names, sorted; the same array until they change. */
  names(): readonly string[];
  /** Undefined: the peer does not get it, or it is not registered. */
  content(service: string): Content | undefined;
  /** Nothing is told any more. */
  end(): void;
}

export interface Exporter extends AsyncDisposable {
  /** Follows what a peer gets. What it gets now is asked for, not told. */
  follow(peer: PeerOf, told: Told): PeerExports;
  /** How often a service was encoded so far. */
  readonly encodings: number;
  /** Services that are remembered for those who were told of them; none that goes to nobody. */
  readonly remembered: number;
}

export interface ExporterParts {
  readonly state: State;
  readonly clock: Clock;
  readonly log: Log;
}

/** Follows a loaded state until it is disposed of. */
export function createExporter({ state, clock, log }: ExporterParts): Exporter {
  const contents = createContents();
  /** What the followers of a service were last told of, by `catalogEntry`. */
  const toldContents = new Map<string, Content>();
  const byPartition = new Map<string, Set<Follower>>();
  /** What is to be looked at again: services by their `catalogEntry`, and followers. */
  const dueServices = new Set<string>();
  const dueFollowers = new Set<Follower>();
  const ending = new AbortController();
  let scheduled = false;

  const followersIn = (partition: string): ReadonlySet<Follower> => byPartition.get(partition) ?? NOBODY;

  function note(change: Change): void {
    if (byPartition.size === 0) return;
    for (const entry of servicesChangedBy(state.snapshot, change)) dueServices.add(entry);
    for (const { table, key } of change.changes) if (table === configEntries) noteEntry(key);
    if (!scheduled) settleSome();
  }

  function noteEntry(key: string): void {
    for (const [partition, followers] of byPartition) {
      if (exportedServicesKey(partition) === key) for (const follower of followers) dueFollowers.add(follower);
    }
  }

  /** Looks at a slice of what is due, and comes back for the rest. */
  function settleSome(): void {
    scheduled = dueServices.size > SERVICES_A_TURN || dueFollowers.size > FOLLOWERS_A_TURN;
    if (scheduled) setImmediate(settleSome);
    for (const entry of takeSome(dueServices, SERVICES_A_TURN)) tryTo(() => review(entry));
    for (const follower of takeSome(dueFollowers, FOLLOWERS_A_TURN)) tryTo(() => renew(follower));
  }

  function tryTo(look: () => void): void {
    try {
      look();
    } catch (error) {
      log.error({ error }, 'what is exported could not be worked out');
    }
  }

  function review(entry: string): void {
    const { partition, key } = partsOf(entry);
    const followers = followersIn(partition);
    const reader = state.snapshot;
    const registered = registeredName(reader, partition, key);
    const wanted = [...followers].some(
      ({ peer, told }) =>
        registered !== undefined && told.serviceChanged !== undefined && isExportedTo(reader, peer, key),
    );
    const content = wanted ? contents.of(reader, partition, key) : undefined;
    const changed = content !== toldContents.get(entry);
    if (content !== undefined) toldContents.set(entry, content);
    for (const follower of followers) reviewService(reader, follower, { name: key, registered, changed });
    forgetUnused(entry);
  }

  function renew(follower: Follower): void {
    const { snapshot } = state;
    const { partition } = follower.peer;
    const services = snapshot.memo(
      `local service names\0${partitionKey(partition)}`,
      () => localServiceNames(snapshot, partition),
      (names) => names.length * MEMO_ENTRY_BYTES,
    );
    const before = follower.names;
    renewFollower(snapshot, follower, services);
    for (const key of before.keys()) if (!follower.names.has(key)) forgetUnused(catalogEntry(partition, key));
  }

  /** Keeps no bytes that go to nobody, neither those of now nor those that were told last. */
  function forgetUnused(entry: string): void {
    if (!contents.has(entry) && !toldContents.has(entry)) return;
    const { partition, key } = partsOf(entry);
    for (const { names, told } of followersIn(partition)) {
      if (told.serviceChanged !== undefined && names.has(key)) return;
    }
    contents.forget(entry);
    toldContents.delete(entry);
  }

  async function followState(): Promise<void> {
    const { signal } = ending;
    while (!signal.aborted) {
      try {
        const changes = state.changes(signal);
        noteAll();
        for await (const change of changes) note(change);
      } catch (error) {
        if (isStateError(error, 'fell-behind')) continue;
        log.error({ error }, 'what is exported could not be followed');
        await sleep(clock, FOLLOW_AGAIN_MS, signal).catch(() => undefined);
      }
    }
  }

  /** Nobody knows what has changed: the names, and any of the services. */
  function noteAll(): void {
    for (const [partition, followers] of byPartition) {
      for (const follower of followers) {
        dueFollowers.add(follower);
        for (const key of follower.names.keys()) dueServices.add(catalogEntry(partition, key));
      }
    }
    if (!scheduled) settleSome();
  }

  const following = followState();

  return {
    get encodings() {
      return contents.encodings;
    },
    get remembered() {
      return toldContents.size;
    },
    follow(peer, told) {
      const follower = createFollower(state.snapshot, peer, told);
      const partition = partitionKey(peer.partition);
      const followers = byPartition.get(partition) ?? new Set();
      byPartition.set(partition, followers.add(follower));
      return {
        names() {
          if (!isCurrent(state.snapshot, follower)) renew(follower);
          return namesOf(follower);
        },
        content(service) {
          const { snapshot } = state;
          const allowed = isExportedTo(snapshot, peer, service);
          const content = allowed ? contents.of(snapshot, peer.partition, service) : undefined;
          // What a follower knows from an answer counts as told: the opposite of it is news again.
          noteAnswer(snapshot, follower, service, content !== undefined);
          const entry = catalogEntry(peer.partition, service);
          // Who is the first to ask is told by the answer.
          if (content !== undefined && !toldContents.has(entry)) toldContents.set(entry, content);
          return content;
        },
        end() {
          followers.delete(follower);
          dueFollowers.delete(follower);
          for (const key of follower.names.keys()) forgetUnused(catalogEntry(peer.partition, key));
          if (followers.size === 0) byPartition.delete(partition);
        },
      };
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await following;
    },
  };
}

const NOBODY: ReadonlySet<Follower> = new Set();

/** Takes out of a set what came first. */
function takeSome<T>(due: Set<T>, most: number): T[] {
  const some = [...due.values().take(most)];
  for (const one of some) due.delete(one);
  return some;
}

/** The parts of a `catalogEntry`: a partition's name has no slash. */
function partsOf(entry: string): { readonly partition: string; readonly key: string } {
  const slash = entry.indexOf('/');
  return { partition: entry.slice(0, slash), key: entry.slice(slash + 1) };
}
