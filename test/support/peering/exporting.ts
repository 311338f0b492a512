/** What peers get, in the test's own process: an exporter on a state, and peers at the other end of a stream of its own. */
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
  /** What it has logged. */
  log(): string;
}

/** An exporter on a loaded state. */
export function startExporter(state: State): TestExporter {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLog({ level: 'debug', format: 'json', destination });
  const exporter = createExporter({ state, clock: systemClock, log });
  return {
    follow: (peer, told) => exporter.follow(peer, told),
    get encodings() {
      return exporter.encodings;
    },
    get remembered() {
      return exporter.remembered;
    },
    log: () => lines.join(''),
    [Symbol.asyncDispose]: () => exporter[Symbol.asyncDispose](),
  };
}

/** A state as somebody sees it who hears of changes only once that is released, and of all of them then. */
export function lateState(state: State): { readonly state: State; readonly release: () => void } {
  const released = Promise.withResolvers<void>();
  const late = new Proxy(state, {
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
  return { state: late, release: () => released.resolve() };
}

/** A peer that takes what its stream has for it when the test says so, and knows what it was sent. */
export interface TestPeer {
  /** Messages that wait to be taken, as the texts of their keys. */
  readonly waiting: readonly string[];
  /** Takes one message. @returns what it was, such as `list` or `service/web`; undefined: nothing was sent */
  take(): string | undefined;
  /** Takes all there is; a list is answered at once unless `holdsLists`. @returns what was sent */
  takeAll(): readonly string[];
  holdsLists: boolean;
  /** The list that is held is answered. */
  answerList(): void;
  /** What it has: each service with its instances, as `node/id:port status`; what a list did not name is gone. */
  readonly has: Readonly<Record<string, readonly string[]>>;
  readonly lists: number;
  /** What was told to be too large. */
  readonly tooLarge: readonly string[];
  end(): void;
}

/** Opens the stream of a peer. */
export function startPeer(exporter: Exporter, peerName: string, partition = 'default'): TestPeer {
  const tooLarge: string[] = [];
  const has = new Map<string, readonly string[]>();
  const waiting = new Map<string, ResourceKey>();
  const add = (key: ResourceKey): void => void waiting.set(keyText(key), key);
  const outgoing = outgoingServices({
    exporter,
    peer: { partition, peerName },
    tooLarge: ({ id }, bytes) => void tooLarge.push(`${id} ${bytes}`),
  });
  const end = outgoing.follow(add);
  for (const kind of ['list', 'service'] as const) for (const id of outgoing.ids(kind)) add({ kind, id });

  function receive({ kind, id }: ResourceKey, bytes: Uint8Array): string {
    if (kind === 'list') {
      const named = new Set(namesOf(fromBinary(ExportedServiceListSchema, bytes)));
      for (const name of has.keys()) if (!named.has(name)) has.delete(name);
      if (!peer.holdsLists) outgoing.listAnswered();
      return 'list';
    }
    const instances = textsOf(fromBinary(ExportedServiceSchema, bytes));
    if (instances.length === 0) has.delete(nameKey(id));
    else has.set(nameKey(id), instances);
    return keyText({ kind, id });
  }

  let lists = 0;
  const peer: TestPeer = {
    holdsLists: false,
    get waiting() {
      return [...waiting.keys()];
    },
    take() {
      const [next] = waiting;
      if (next === undefined) return undefined;
      waiting.delete(next[0]);
      const content = encodeResource(next[1], outgoing.read(next[1]));
      if (content === undefined) return undefined;
      const what = receive(next[1], content.value);
      if (what === 'list') lists += 1;
      return what;
    },
    takeAll() {
      const taken: string[] = [];
      while (waiting.size > 0) {
        const what = peer.take();
        if (what !== undefined) taken.push(what);
      }
      return taken;
    },
    answerList: () => outgoing.listAnswered(),
    get has() {
      return Object.fromEntries([...has].sort(([a], [b]) => (a < b ? -1 : 1)));
    },
    get lists() {
      return lists;
    },
    tooLarge,
    end,
  };
  return peer;
}

const namesOf = ({ Services }: ExportedServiceList): readonly string[] => Services.map(nameKey);

function textsOf({ Nodes }: ExportedService): readonly string[] {
  return Nodes.map((node) => {
    const instance = instanceFromWire(node);
    if (instance === undefined) throw new TypeError('an instance without a node or a service');
    const { service, checks } = instance;
    return `${instance.node.name}/${service.id}:${service.port} ${checks.map(({ status }) => status).join()}`.trim();
  });
}
