/** An exporter on the state of a test, and peers that receive what it exports. */
import { fromBinary } from '@bufbuild/protobuf';
import { createLog } from '../../../src/http/telemetry/log.ts';
import { nameKey } from '../../../src/peering/config-entries/config-entry.ts';
import { createExporter, type Exporter } from '../../../src/peering/export/exporter.ts';
import { outgoingServices } from '../../../src/peering/stream/exporting/outgoing-services.ts';
import { instanceFromWire } from '../../../src/peering/stream/importing/instance-from-wire.ts';
import {
  type ExportedService,
  type ExportedServiceList,
  ExportedServiceListSchema,
  ExportedServiceSchema,
} from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { encodeResource } from '../../../src/peering/stream/wire/messages.ts';
import { keyText, type ResourceKey } from '../../../src/peering/stream/wire/resources.ts';
import { systemClock } from '../../../src/state/clock/clock.ts';
import type { State } from '../../../src/state/state.ts';

export interface TestExporter extends Exporter {
  /** Returns the log of the exporter. */
  log(): string;
}

/** Starts an exporter on a loaded state. */
export function startExporter(state: State): TestExporter {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLog({ level: 'debug', format: 'json', destination });
  const exporter = createExporter({ state, clock: systemClock, log });
  return {
    subscribe: (peer, listener) => exporter.subscribe(peer, listener),
    get encodingCount() {
      return exporter.encodingCount;
    },
    get announcedCount() {
      return exporter.announcedCount;
    },
    log: () => lines.join(''),
    [Symbol.asyncDispose]: () => exporter[Symbol.asyncDispose](),
  };
}

/** Wraps a state so that `changes` delivers nothing until `release`, and then every change. */
export function delayedState(state: State): { readonly state: State; readonly release: () => void } {
  const released = Promise.withResolvers<void>();
  const delayed = new Proxy(state, {
    get(whole, property) {
      const value = Reflect.get(whole, property, whole) as unknown;
      if (property !== 'changes') return typeof value === 'function' ? value.bind(whole) : value;
      return async function* (signal: AbortSignal) {
        const changes = whole.changes(signal);
        signal.addEventListener('abort', () => released.resolve());
        await released.promise;
        yield* changes;
      };
    },
  });
  return { state: delayed, release: () => released.resolve() };
}

/** A peer that receives messages when the test calls `receive`, and keeps the resulting services. */
export interface TestPeer {
  /** The keys of the messages that were not received yet, as text. */
  readonly pending: readonly string[];
  /** Receives one message. @returns `list` or a key such as `service/web`; undefined when nothing was sent */
  receive(): string | undefined;
  /** Receives all messages. @returns their descriptions */
  receiveAll(): readonly string[];
  holdsListAcks: boolean;
  /** Acknowledges the list that `holdsListAcks` has held back. */
  acknowledgeList(): void;
  /** The imported services with their instances, as `node/id:port status`. */
  readonly services: Readonly<Record<string, readonly string[]>>;
  readonly listCount: number;
  /** The services that were reported as too large, as `name bytes`. */
  readonly tooLarge: readonly string[];
  close(): void;
}

/** Opens the stream of a peer. Acknowledges every list immediately unless `holdsListAcks` is set. */
export function startPeer(exporter: Exporter, peerName: string, partition = 'default'): TestPeer {
  const tooLarge: string[] = [];
  const services = new Map<string, readonly string[]>();
  const pending = new Map<string, ResourceKey>();
  const add = (key: ResourceKey): void => void pending.set(keyText(key), key);
  const outgoing = outgoingServices({
    exporter,
    peer: { partition, peerName },
    tooLarge: ({ id }, bytes) => void tooLarge.push(`${id} ${bytes}`),
  });
  const close = outgoing.follow(add);
  for (const kind of ['list', 'service'] as const) for (const id of outgoing.ids(kind)) add({ kind, id });

  function receive({ kind, id }: ResourceKey, bytes: Uint8Array): string {
    if (kind === 'list') {
      const named = new Set(namesOf(fromBinary(ExportedServiceListSchema, bytes)));
      for (const name of services.keys()) if (!named.has(name)) services.delete(name);
      if (!peer.holdsListAcks) outgoing.listAnswered();
      return 'list';
    }
    const instances = describeInstances(fromBinary(ExportedServiceSchema, bytes));
    if (instances.length === 0) services.delete(nameKey(id));
    else services.set(nameKey(id), instances);
    return keyText({ kind, id });
  }

  let listCount = 0;
  const peer: TestPeer = {
    holdsListAcks: false,
    get pending() {
      return [...pending.keys()];
    },
    receive() {
      const [next] = pending;
      if (next === undefined) return undefined;
      pending.delete(next[0]);
      const content = encodeResource(next[1], outgoing.read(next[1]));
      if (content === undefined) return undefined;
      const description = receive(next[1], content.value);
      if (description === 'list') listCount += 1;
      return description;
    },
    receiveAll() {
      const received: string[] = [];
      while (pending.size > 0) {
        const description = peer.receive();
        if (description !== undefined) received.push(description);
      }
      return received;
    },
    acknowledgeList: () => outgoing.listAnswered(),
    get services() {
      return Object.fromEntries([...services].sort(([a], [b]) => (a < b ? -1 : 1)));
    },
    get listCount() {
      return listCount;
    },
    tooLarge,
    close,
  };
  return peer;
}

const namesOf = ({ Services }: ExportedServiceList): readonly string[] => Services.map(nameKey);

function describeInstances({ Nodes }: ExportedService): readonly string[] {
  return Nodes.map((node) => {
    const instance = instanceFromWire(node);
    if (instance === undefined) throw new TypeError('an instance without a node or a service');
    const { service, checks } = instance;
    return `${instance.node.name}/${service.id}:${service.port} ${checks.map(({ status }) => status).join()}`.trim();
  });
}
