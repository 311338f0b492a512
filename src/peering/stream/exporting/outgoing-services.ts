/** The exported services on their way over one stream: the list of their names, and each of them. */
import { create } from '@bufbuild/protobuf';
import { nameKey } from '../../config-entries/config-entry.ts';
import type { PeerOf } from '../../config-entries/exported-services.ts';
import type { Exporter, PeerExports } from '../../export/exporter.ts';
import type { Content } from '../../export/service-payloads.ts';
import type { OutgoingResources, Refusal } from '../contract.ts';
import type { Fate } from '../status/delivery-status.ts';
import { ExportedServiceListSchema } from '../wire/gen/peering/peerstream_pb.ts';
import { RESOURCE_KINDS, type ResourceKey } from '../wire/resources.ts';
import type { SentService } from './outgoing-digest.ts';

/** `list` and `service` of `OutgoingResources`. */
export interface OutgoingServices extends Pick<OutgoingResources, 'read' | 'follow' | 'tooLarge'> {
  ids(kind: 'list' | 'service'): readonly string[];
  /** The peer has answered a list, or was not sent it. */
  listAnswered(): void;
  /** The peer has answered a service. @param refusal undefined: it was taken */
  serviceAnswered(service: string, refusal?: Refusal): void;
  /** What became of a service that is exported to the peer. */
  fate(service: string): Fate;
  /** Everything that is exported to the peer, sorted. */
  sent(): readonly SentService[];
}

export interface OutgoingServicesParts {
  readonly exporter: Pick<Exporter, 'follow'>;
  /** Undefined: the peering is gone, so nothing is exported to it. */
  readonly peer: PeerOf | undefined;
  /** The service was to be sent, and no message can carry it. */
  readonly tooLarge: (key: ResourceKey, bytes: number) => void;
}

const LIST: ResourceKey = { kind: 'list', id: RESOURCE_KINDS.list.id ?? '' };

/** What a stream sends of the exported services, from when it is followed. */
export function outgoingServices({ exporter, peer, tooLarge }: OutgoingServicesParts): OutgoingServices {
  let exports: PeerExports | undefined;
  let tell: (key: ResourceKey) => void = () => undefined;
  /** What the peer was last sent: names, and contents by name. */
  let namesSent: readonly string[] | undefined;
  const sent = new Map<string, Content>();
  /** How often each was sent that the peer has not answered as often: it answers one service in order. */
  const unanswered = new Map<string, number>();
  const refusals = new Map<string, Refusal>();
  /** Lists that the peer has not answered. */
  let listsUnanswered = 0;
  let listWaits = false;

  /**
   * One list at a time: while services come in thousands, the next one is sent when the peer has taken the one before, and
   * then has all names that came meanwhile.
   */
  const listChanged = (): void => {
    if (listsUnanswered === 0) tell(LIST);
    else listWaits = true;
  };

  function listAnswered(): void {
    listsUnanswered = Math.max(0, listsUnanswered - 1);
    if (!listWaits || listsUnanswered > 0) return;
    listWaits = false;
    tell(LIST);
  }

  function readList(): ReturnType<OutgoingResources['read']> {
    const names = exports?.names() ?? [];
    const unnamed = unnamedIn(names);
    if (namesSent !== undefined && isSame(namesSent, names) && unnamed.length === 0) return 'unchanged';
    namesSent = names;
    listsUnanswered += 1;
    listWaits = false;
    for (const name of unnamed) forget(name);
    return { kind: 'list', id: LIST.id, message: create(ExportedServiceListSchema, { Services: [...names] }) };
  }

  /** What the peer was sent and a list with these names takes from it. */
  function unnamedIn(names: readonly string[]): readonly string[] {
    const named = new Set(names.map(nameKey));
    return [...sent.keys()].filter((name) => !named.has(name));
  }

  function readService(key: ResourceKey): ReturnType<OutgoingResources['read']> {
    const content = exports?.content(key.id);
    const name = nameKey(key.id);
    if (content === undefined) {
      forget(name);
      awaitAnswer(name);
      return undefined;
    }
    const before = sent.get(name);
    sent.set(name, content);
    if (before !== undefined && isSameContent(before, content)) return 'unchanged';
    if (!content.tooLarge) {
      awaitAnswer(name);
      return { ...key, encoded: content.encoded };
    }
    // The peer keeps what it has: should the service shrink to that again, it is sent once more, which does no harm.
    tooLarge(key, content.messageBytes);
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

  function fate(service: string): Fate {
    const name = nameKey(service);
    const content = exports?.content(service);
    if (content?.tooLarge) return { kind: 'too-large', bytes: content.messageBytes };
    const before = sent.get(name);
    if (content === undefined || before === undefined || !isSameContent(before, content)) return { kind: 'unsent' };
    if (unanswered.has(name)) return { kind: 'unanswered' };
    const refusal = refusals.get(name);
    return refusal === undefined ? { kind: 'acknowledged' } : { kind: 'refused', refusal };
  }

  return {
    ids(kind) {
      // The peer asks for everything.
      if (kind === 'service') sent.clear();
      else namesSent = undefined;
      return kind === 'list' ? [LIST.id] : (exports?.names() ?? []);
    },
    read: (key) => (key.kind === 'list' ? readList() : readService(key)),
    follow(changed) {
      tell = changed;
      const serviceChanged = (service: string): void => changed({ kind: 'service', id: service });
      exports = peer && exporter.follow(peer, { listChanged, serviceChanged });
      return () => {
        exports?.end();
        exports = undefined;
      };
    },
    tooLarge(key, bytes) {
      if (key.kind === 'list') listAnswered();
      tooLarge(key, bytes);
    },
    listAnswered,
    serviceAnswered,
    fate,
    sent: () => (exports?.names() ?? []).map((name) => ({ name, content: sent.get(nameKey(name)) })),
  };
}

const isSameContent = (a: Content, b: Content): boolean =>
  a === b || (!a.tooLarge && !b.tooLarge && Buffer.compare(a.encoded, b.encoded) === 0);

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a === b || (a.length === b.length && a.every((name, i) => name === b[i]));
