/** A peer that a test plays message by message, and resources that it moves by hand. */
import { create } from '@bufbuild/protobuf';
import type {
  IncomingResources,
  OutgoingResources,
  Refusal,
  SessionHandle,
} from '../../../src/peering/stream/contract.ts';
import {
  ExportedServiceListSchema,
  ExportedServiceSchema,
  type ReplicationMessage,
} from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { keyText, type Resource, type ResourceKey } from '../../../src/peering/stream/wire/resources.ts';

export interface ScriptedPeer {
  /** Says one message. */
  say(message: ReplicationMessage): void;
  /** Leaves, with an error or without. */
  leave(error?: Error): void;
  /** Takes the next message; `undefined` when there will be none. */
  take(): Promise<ReplicationMessage | undefined>;
  /** How many messages the session has not read. */
  readonly unread: number;
}

/** Attaches a peer to a session. */
export function attachPeer(session: SessionHandle, gone?: AbortSignal): ScriptedPeer {
  const said: ReplicationMessage[] = [];
  let left: { readonly error: Error | undefined } | undefined;
  let wake: (() => void) | undefined;
  const outgoing = session.outgoing[Symbol.asyncIterator]();

  async function* incoming(): AsyncGenerator<ReplicationMessage> {
    for (;;) {
      const message = said.shift();
      if (message !== undefined) yield message;
      else if (left !== undefined) {
        if (left.error !== undefined) throw left.error;
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }

  session.receive(incoming(), gone);
  return {
    say(message) {
      said.push(message);
      wake?.();
    },
    leave(error) {
      left = { error };
      wake?.();
    },
    async take() {
      const next = await outgoing.next();
      return next.done === true ? undefined : next.value;
    },
    get unread() {
      return said.length;
    },
  };
}

/** A service with so many instances, each with a name of `characters`. */
export function service(id: string, instances = 1, characters = 4): Resource {
  const Nodes = Array.from({ length: instances }, () => ({
    Service: { Service: id, Address: 'x'.repeat(characters) },
  }));
  return { kind: 'service', id, message: create(ExportedServiceSchema, { Nodes }) };
}

/** The list of these services. */
export function list(...Services: readonly string[]): Resource {
  const message = create(ExportedServiceListSchema, { Services: [...Services] });
  return { kind: 'list', id: 'exported-service-list', message };
}

export interface ScriptedSource extends OutgoingResources {
  put(resource: Resource): void;
  remove(key: ResourceKey): void;
  /** What was told to it, in words. */
  readonly told: string[];
  reads: number;
  readonly followed: boolean;
}

/** What one side exports. */
export function scriptedSource(...resources: readonly Resource[]): ScriptedSource {
  const contents = new Map(resources.map((resource) => [keyText(resource), resource]));
  const told: string[] = [];
  let follower: ((key: ResourceKey) => void) | undefined;
  return {
    told,
    reads: 0,
    get followed() {
      return follower !== undefined;
    },
    put(resource) {
      contents.set(keyText(resource), resource);
      follower?.(resource);
    },
    remove(key) {
      contents.delete(keyText(key));
      follower?.(key);
    },
    ids: (kind) => [...contents.values()].filter((resource) => resource.kind === kind).map(({ id }) => id),
    read(key) {
      this.reads += 1;
      return contents.get(keyText(key));
    },
    follow(changed) {
      follower = changed;
      return () => {
        follower = undefined;
      };
    },
    tooLarge: (key, bytes) => void told.push(`${key.id} too large: ${bytes > 0}`),
    acknowledged: (key) => void told.push(`${key.id} acknowledged`),
    refused: (key, { message }: Refusal) => void told.push(`${key.id} refused: ${message}`),
  };
}

export interface ScriptedSink extends IncomingResources {
  /** What was applied, in words. */
  readonly applied: string[];
  /** Applications that wait for the test, when `holds`. */
  readonly held: { resolve(): void; reject(error: Error): void }[];
  holds: boolean;
}

/** Takes what comes in: at once, or when the test lets it. */
export function scriptedSink(): ScriptedSink {
  const applied: string[] = [];
  const held: PromiseWithResolvers<void>[] = [];
  return {
    applied,
    held,
    holds: false,
    async apply(resource, first) {
      if (this.holds) {
        const waiting = Promise.withResolvers<void>();
        held.push(waiting);
        await waiting.promise;
      }
      const { message } = resource;
      const size = 'Nodes' in message ? message.Nodes.length : 'Services' in message ? message.Services.join('+') : '';
      applied.push(`${resource.id} ${size}${first ? ' first' : ''}`.trim());
    },
    async undecodable({ id }) {
      applied.push(`${id} undecodable`);
    },
  };
}
