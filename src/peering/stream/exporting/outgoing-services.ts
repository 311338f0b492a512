/** The exported services of one stream: their list, each service, and what the peer has acknowledged. */
import { create } from '@bufbuild/protobuf';
import { nameKey } from '../../config-entries/config-entry.ts';
import type { PeerRef } from '../../config-entries/exported-services.ts';
import type { Exporter, PeerExports } from '../../export/exporter.ts';
import type { ServicePayload } from '../../export/service-payloads.ts';
import type { OutgoingResources, Refusal } from '../contract.ts';
import type { DeliveryStatus } from '../status/delivery-status.ts';
import { ExportedServiceListSchema } from '../wire/gen/peering/peerstream_pb.ts';
import { RESOURCE_KINDS, type ResourceKey } from '../wire/resources.ts';
import type { SentService } from './outgoing-digest.ts';

/** The resources of the kinds `list` and `service` on one stream. */
export interface OutgoingServices extends Pick<OutgoingResources, 'read' | 'follow' | 'tooLarge'> {
  ids(kind: 'list' | 'service'): readonly string[];
  /** Records that the peer sent an ACK or NACK for a list, or that the list was not sent. */
  listAnswered(): void;
  /** Records the answer to a service. @param refusal `undefined` for an ACK */
  serviceAnswered(service: string, refusal?: Refusal): void;
  deliveryStatus(service: string): DeliveryStatus;
  /** Returns the exported services in order of name. */
  sent(): readonly SentService[];
}

export interface OutgoingServicesDependencies {
  readonly exporter: Pick<Exporter, 'subscribe'>;
  /** `undefined` when the peering no longer exists. It then exports nothing. */
  readonly peer: PeerRef | undefined;
  /** Reports a service that exceeds the size of a message ([STREAM-50]). */
  readonly tooLarge: (key: ResourceKey, bytes: number) => void;
}

const LIST: ResourceKey = { kind: 'list', id: RESOURCE_KINDS.list.id ?? '' };

/** Creates the outgoing services of a stream. There are none until `follow` is called. */
export function outgoingServices({ exporter, peer, tooLarge }: OutgoingServicesDependencies): OutgoingServices {
  let exports: PeerExports | undefined;
  let notify: (key: ResourceKey) => void = () => undefined;
  let namesSent: readonly string[] | undefined;
  /** The payload that was last sent, by `nameKey`. */
  const sent = new Map<string, ServicePayload>();
  /** Number of unanswered versions per service. A peer answers the versions of one service in order. */
  const unanswered = new Map<string, number>();
  const refusals = new Map<string, Refusal>();
  let listsUnanswered = 0;
  let listPending = false;

  /** Sends one list at a time, so that the next list contains all changes in between ([STREAM-58]). */
  const listChanged = (): void => {
    if (listsUnanswered === 0) notify(LIST);
    else listPending = true;
  };

  function listAnswered(): void {
    listsUnanswered = Math.max(0, listsUnanswered - 1);
    if (!listPending || listsUnanswered > 0) return;
    listPending = false;
    notify(LIST);
  }

  function readList(): ReturnType<OutgoingResources['read']> {
    const names = exports?.names() ?? [];
    const removed = missingFrom(names);
    if (namesSent !== undefined && sameNames(namesSent, names) && removed.length === 0) return 'unchanged';
    namesSent = names;
    listsUnanswered += 1;
    listPending = false;
    for (const name of removed) forget(name);
    return { kind: 'list', id: LIST.id, message: create(ExportedServiceListSchema, { Services: [...names] }) };
  }

  /** Returns the sent services that a list with these names removes from the peer. */
  function missingFrom(names: readonly string[]): readonly string[] {
    const named = new Set(names.map(nameKey));
    return [...sent.keys()].filter((name) => !named.has(name));
  }

  function readService(key: ResourceKey): ReturnType<OutgoingResources['read']> {
    const payload = exports?.payload(key.id);
    const name = nameKey(key.id);
    if (payload === undefined) {
      forget(name);
      awaitAnswer(name);
      return undefined;
    }
    const before = sent.get(name);
    sent.set(name, payload);
    if (before !== undefined && samePayload(before, payload)) return 'unchanged';
    if (!payload.tooLarge) {
      awaitAnswer(name);
      return { ...key, encoded: payload.encoded };
    }
    // The peer keeps the previous version. If the service shrinks to that version again, sending it again is harmless.
    tooLarge(key, payload.messageBytes);
    return 'unchanged';
  }

  const awaitAnswer = (name: string): void => void unanswered.set(name, (unanswered.get(name) ?? 0) + 1);

  const forget = (name: string): void => {
    sent.delete(name);
    refusals.delete(name);
  };

  function serviceAnswered(service: string, refusal?: Refusal): void {
    const name = nameKey(service);
    const left = (unanswered.get(name) ?? 0) - 1;
    if (left > 0) unanswered.set(name, left);
    else unanswered.delete(name);
    if (refusal !== undefined && sent.has(name)) refusals.set(name, refusal);
    else refusals.delete(name);
  }

  function deliveryStatus(service: string): DeliveryStatus {
    const name = nameKey(service);
    const payload = exports?.payload(service);
    if (payload?.tooLarge) return { kind: 'too-large', bytes: payload.messageBytes };
    const before = sent.get(name);
    if (payload === undefined || before === undefined || !samePayload(before, payload)) return { kind: 'unsent' };
    if (unanswered.has(name)) return { kind: 'unanswered' };
    const refusal = refusals.get(name);
    return refusal === undefined ? { kind: 'acknowledged' } : { kind: 'refused', refusal };
  }

  return {
    ids(kind) {
      // A subscription makes the stream send everything again ([STREAM-37], [STREAM-38]).
      if (kind === 'service') sent.clear();
      else namesSent = undefined;
      return kind === 'list' ? [LIST.id] : (exports?.names() ?? []);
    },
    read: (key) => (key.kind === 'list' ? readList() : readService(key)),
    follow(changed) {
      notify = changed;
      const serviceChanged = (service: string): void => changed({ kind: 'service', id: service });
      exports = peer && exporter.subscribe(peer, { listChanged, serviceChanged });
      return () => {
        exports?.close();
        exports = undefined;
      };
    },
    tooLarge(key, bytes) {
      if (key.kind === 'list') listAnswered();
      tooLarge(key, bytes);
    },
    listAnswered,
    serviceAnswered,
    deliveryStatus: deliveryStatus,
    sent: () => (exports?.names() ?? []).map((name) => ({ name, payload: sent.get(nameKey(name)) })),
  };
}

const samePayload = (a: ServicePayload, b: ServicePayload): boolean =>
  a === b || (!a.tooLarge && !b.tooLarge && Buffer.compare(a.encoded, b.encoded) === 0);

const sameNames = (a: readonly string[], b: readonly string[]): boolean =>
  a === b || (a.length === b.length && a.every((name, i) => name === b[i]));
