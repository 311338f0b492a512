/** A peer that a test controls message by message, and resources that it changes by hand. */
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
  send(message: ReplicationMessage): void;
  /** Ends the incoming messages, with an error if given. */
  disconnect(error?: Error): void;
  /** Returns the next message of the session, or undefined at the end. */
  receive(): Promise<ReplicationMessage | undefined>;
  /** The number of messages that the session has not read. */
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
    send(message) {
      said.push(message);
      wake?.();
    },
    disconnect(error) {
      left = { error };
      wake?.();
    },
    async receive() {
      const next = await outgoing.next();
      return next.done === true ? undefined : next.value;
    },
    get unread() {
      return said.length;
    },
  };
}

/** Creates a service. @param characters the length of each instance's address */
export function service(id: string, instances = 1, characters = 4): Resource {
  const Nodes = Array.from({ length: instances }, () => ({
    Service: { Service: id, Address: 'x'.repeat(characters) },
  }));
  return { kind: 'service', id, message: create(ExportedServiceSchema, { Nodes }) };
}

/** Creates the list of these services. */
export function list(...Services: readonly string[]): Resource {
  const message = create(ExportedServiceListSchema, { Services: [...Services] });
  return { kind: 'list', id: 'exported-service-list', message };
}

export interface ScriptedSource extends OutgoingResources {
  put(resource: Resource): void;
  remove(key: ResourceKey): void;
  /** The calls of `acknowledged`, `refused` and `tooLarge`, as text. */
  readonly reports: string[];
  reads: number;
  readonly isFollowed: boolean;
}

/** Creates outgoing resources that the test changes. */
export function scriptedSource(...resources: readonly Resource[]): ScriptedSource {
  const contents = new Map(resources.map((resource) => [keyText(resource), resource]));
  const reports: string[] = [];
  let follower: ((key: ResourceKey) => void) | undefined;
  return {
    reports,
    reads: 0,
    get isFollowed() {
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
    tooLarge: (key, bytes) => void reports.push(`${key.id} too large: ${bytes > 0}`),
    acknowledged: (key) => void reports.push(`${key.id} acknowledged`),
    refused: (key, { message }: Refusal) => void reports.push(`${key.id} refused: ${message}`),
  };
}

export interface ScriptedSink extends IncomingResources {
  /** The applied resources, as text. */
  readonly applied: string[];
  /** Applications that the test has to complete while `isHeld`. */
  readonly pending: { resolve(): void; reject(error: Error): void }[];
  isHeld: boolean;
}

/** Creates incoming resources that are applied immediately, or by the test while `isHeld`. */
export function scriptedSink(): ScriptedSink {
  const applied: string[] = [];
  const held: PromiseWithResolvers<void>[] = [];
  return {
    applied,
    pending: held,
    isHeld: false,
    async apply(resource, first) {
      if (this.isHeld) {
        const completion = Promise.withResolvers<void>();
        held.push(completion);
        await completion.promise;
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
