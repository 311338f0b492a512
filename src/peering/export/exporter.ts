/**
 * The exported services of every peer, for the streams and for the job that keeps the records current. The exporter
 * follows the change feed once for all subscriptions and encodes each service once for all peers.
 *
 * It processes changes in bounded slices. The first slice runs at once, so that a single change is reported in the
 * event-loop turn of its commit. Ten thousand changes do not block the server. Reads always use the current snapshot.
 */
import { partitionKey } from '../../credentials/partition.ts';
import type { Log } from '../../http/telemetry/log.ts';
import { type Clock, sleep } from '../../state/clock/clock.ts';
import { runAtOnce } from '../../state/clock/slices.ts';
import { isStateError } from '../../state/errors.ts';
import { LIST_ELEMENT_BYTES } from '../../state/limits.ts';
import type { State } from '../../state/state.ts';
import type { Change } from '../../state/watch/change-feed.ts';
import { localServiceNames, servicesChangedBy } from '../catalog/query/local-instances.ts';
import { catalogEntry } from '../catalog/tables/catalog-node.ts';
import { configEntries } from '../config-entries/config-entry.ts';
import { exportedServicesKey, isExportedTo, type PeerRef } from '../config-entries/exported-services.ts';
import { CHANGE_FEED_RETRY_MS, SERVICES_PER_TURN, SUBSCRIPTIONS_PER_TURN } from './limits.ts';
import { createServicePayloads, type ServicePayload } from './service-payloads.ts';
import {
  createSubscription,
  type ExportListener,
  isCurrent,
  reconcileAnswer,
  refreshNames,
  registeredName,
  reviewService,
  type Subscription,
  sortedNames,
} from './subscription.ts';

export interface PeerExports {
  /** Returns the sorted names. The array is the same until they change. */
  names(): readonly string[];
  /** Returns `undefined` when the service is not exported to the peer or not registered. */
  payload(service: string): ServicePayload | undefined;
  close(): void;
}

export interface Exporter extends AsyncDisposable {
  /** Subscribes to the exports of a peer. The listener gets changes only; the caller reads the initial services. */
  subscribe(peer: PeerRef, listener: ExportListener): PeerExports;
  readonly encodingCount: number;
  /** Number of services whose last announced payload is held. A service without a subscriber is not held. */
  readonly announcedCount: number;
}

export interface ExporterDependencies {
  readonly state: State;
  readonly clock: Clock;
  readonly log: Log;
}

/** Creates an exporter over a loaded state. It follows the state until it is disposed. */
export function createExporter({ state, clock, log }: ExporterDependencies): Exporter {
  const payloads = createServicePayloads();
  /** The payload that subscribers were last notified of, by `catalogEntry`. */
  const announced = new Map<string, ServicePayload>();
  /** By partition. */
  const subscriptions = new Map<string, Set<Subscription>>();
  /** Services to review, by `catalogEntry`. */
  const dueServices = new Set<string>();
  const dueSubscriptions = new Set<Subscription>();
  const ending = new AbortController();
  let scheduled = false;

  const subscriptionsIn = (partition: string): ReadonlySet<Subscription> =>
    subscriptions.get(partition) ?? NO_SUBSCRIPTIONS;

  function onChange(change: Change): void {
    if (subscriptions.size === 0) return;
    for (const entry of servicesChangedBy(state.snapshot, change)) dueServices.add(entry);
    for (const { table, key } of change.changes) if (table === configEntries) onEntryChange(key);
    if (!scheduled) processSlice();
  }

  function onEntryChange(key: string): void {
    for (const [partition, subscribers] of subscriptions) {
      if (exportedServicesKey(partition) === key)
        for (const subscription of subscribers) dueSubscriptions.add(subscription);
    }
  }

  /** Processes one slice, and schedules the next one when more is due. */
  function processSlice(): void {
    scheduled = dueServices.size > SERVICES_PER_TURN || dueSubscriptions.size > SUBSCRIPTIONS_PER_TURN;
    if (scheduled) setImmediate(processSlice);
    for (const entry of takeFirst(dueServices, SERVICES_PER_TURN)) logErrors(() => reviewEntry(entry));
    for (const subscription of takeFirst(dueSubscriptions, SUBSCRIPTIONS_PER_TURN))
      logErrors(() => refresh(subscription));
  }

  function logErrors(action: () => void): void {
    try {
      action();
    } catch (error) {
      log.error({ error }, 'exported services not computed');
    }
  }

  function reviewEntry(entry: string): void {
    const { partition, key } = splitEntry(entry);
    const subscribers = subscriptionsIn(partition);
    const reader = state.snapshot;
    const registered = registeredName(reader, partition, key);
    const wanted = [...subscribers].some(
      ({ peer, listener }) =>
        registered !== undefined && listener.serviceChanged !== undefined && isExportedTo(reader, peer, key),
    );
    const payload = wanted ? payloads.get(reader, partition, key) : undefined;
    const changed = payload !== announced.get(entry);
    if (payload !== undefined) announced.set(entry, payload);
    for (const subscription of subscribers) reviewService(reader, subscription, { name: key, registered, changed });
    forgetUnused(entry);
  }

  function refresh(subscription: Subscription): void {
    const { snapshot } = state;
    const { partition } = subscription.peer;
    const services = snapshot.memoize(
      `local service names\0${partitionKey(partition)}`,
      () => runAtOnce(localServiceNames(snapshot, partition)),
      (names) => names.length * LIST_ELEMENT_BYTES,
    );
    const before = subscription.names;
    refreshNames(snapshot, subscription, services);
    for (const key of before.keys()) if (!subscription.names.has(key)) forgetUnused(catalogEntry(partition, key));
  }

  /** Frees the payloads of a service that no subscriber reads. */
  function forgetUnused(entry: string): void {
    if (!payloads.has(entry) && !announced.has(entry)) return;
    const { partition, key } = splitEntry(entry);
    for (const { names, listener } of subscriptionsIn(partition)) {
      if (listener.serviceChanged !== undefined && names.has(key)) return;
    }
    payloads.forget(entry);
    announced.delete(entry);
  }

  async function followState(): Promise<void> {
    const { signal } = ending;
    while (!signal.aborted) {
      try {
        const changes = state.changes(signal);
        reviewAll();
        for await (const change of changes) onChange(change);
      } catch (error) {
        if (isStateError(error, 'fell-behind')) continue;
        log.error({ error }, 'change feed of exported services failed');
        await sleep(clock, CHANGE_FEED_RETRY_MS, signal).catch(() => undefined);
      }
    }
  }

  /** Marks all subscriptions and their services as due, because changes may have been missed. */
  function reviewAll(): void {
    for (const [partition, subscribers] of subscriptions) {
      for (const subscription of subscribers) {
        dueSubscriptions.add(subscription);
        for (const key of subscription.names.keys()) dueServices.add(catalogEntry(partition, key));
      }
    }
    if (!scheduled) processSlice();
  }

  const following = followState();

  return {
    get encodingCount() {
      return payloads.encodingCount;
    },
    get announcedCount() {
      return announced.size;
    },
    subscribe(peer, listener) {
      const subscription = createSubscription(state.snapshot, peer, listener);
      const partition = partitionKey(peer.partition);
      const subscribers = subscriptions.get(partition) ?? new Set();
      subscriptions.set(partition, subscribers.add(subscription));
      return {
        names() {
          if (!isCurrent(state.snapshot, subscription)) refresh(subscription);
          return sortedNames(subscription);
        },
        payload(service) {
          const { snapshot } = state;
          const allowed = isExportedTo(snapshot, peer, service);
          const payload = allowed ? payloads.get(snapshot, peer.partition, service) : undefined;
          // The caller now knows whether it gets the service, so a later reversal must be reported.
          reconcileAnswer(snapshot, subscription, service, payload !== undefined);
          const entry = catalogEntry(peer.partition, service);
          // The first reader of a payload needs no notification of it.
          if (payload !== undefined && !announced.has(entry)) announced.set(entry, payload);
          return payload;
        },
        close() {
          subscribers.delete(subscription);
          dueSubscriptions.delete(subscription);
          for (const key of subscription.names.keys()) forgetUnused(catalogEntry(peer.partition, key));
          if (subscribers.size === 0) subscriptions.delete(partition);
        },
      };
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await following;
    },
  };
}

const NO_SUBSCRIPTIONS: ReadonlySet<Subscription> = new Set();

/** Removes and returns up to `max` elements in insertion order. */
function takeFirst<T>(due: Set<T>, max: number): T[] {
  const first = [...due.values().take(max)];
  for (const element of first) due.delete(element);
  return first;
}

/** Splits a `catalogEntry` at its first slash. The name of a partition contains none. */
function splitEntry(entry: string): { readonly partition: string; readonly key: string } {
  const slash = entry.indexOf('/');
  return { partition: entry.slice(0, slash), key: entry.slice(slash + 1) };
}
