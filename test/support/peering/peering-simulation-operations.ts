/** What operators do in the peering simulation: the real operations, on whatever server they reach. */
import type { Asked } from '../../../src/credentials/operation.ts';
import { DEFAULT_PARTITION } from '../../../src/credentials/partition.ts';
import { ServiceError } from '../../../src/http/errors.ts';
import { deletePeering } from '../../../src/peering/api/delete-peering.ts';
import { establish } from '../../../src/peering/api/establish.ts';
import { generateToken } from '../../../src/peering/api/generate-token.ts';
import { revokeToken } from '../../../src/peering/api/revoke-token.ts';
import { catalogNodes } from '../../../src/peering/catalog/tables/catalog-node.ts';
import { catalogServiceKey, catalogServices } from '../../../src/peering/catalog/tables/catalog-service.ts';
import { configEntries, WILDCARD } from '../../../src/peering/config-entries/config-entry.ts';
import { rotate } from '../../../src/peering/trust/api/rotate.ts';
import { rotateBack } from '../../../src/peering/trust/api/rotate-back.ts';
import { isStateError } from '../../../src/state/errors.ts';
import type { Transaction } from '../../../src/state/write/transaction.ts';
import { otherCluster, type PeeringWorld } from './peering-simulation-world.ts';
import type { SimulatedCluster, SimulatedServer } from './simulated-cluster.ts';

/** Tokens that operators still have. */
const TOKENS_KEPT = 6;
const NAMES = ['p0', 'p1', 'p2'];
/** How often each is done. */
const WEIGHTS = { generate: 4, establish: 6, remove: 2, revoke: 1, rotate: 1, back: 1, offer: 3 };
/** Not all may be said of an operation that could not be done; anything else is a fault. */
const REFUSALS = ['permission-denied', 'conflict', 'unavailable'];
const FAILURES = ['unavailable', 'outcome-unknown', 'aborted'] as const;

const ASKED: Asked = {
  secretHash: undefined,
  partitions: { query: undefined, header: undefined },
  address: '192.0.2.1',
  requestId: 'simulated',
  connection: { destroyed: false },
  bodyBytes: 0,
};

interface CarriedToken {
  readonly cluster: SimulatedCluster;
  readonly name: string;
  readonly text: string;
}

/** The only service of the cluster, which every peer gets. */
function putExport(tx: Transaction, name: string): void {
  const partition = DEFAULT_PARTITION;
  const consumers = [...NAMES, 'fresh'].map((peer) => ({ peer }));
  const services = [{ name: WILDCARD, consumers }];
  tx.put(configEntries, { kind: 'exported-services', name: partition, partition, meta: {}, services });
  const node = { uid: 'node', name: 'node', partition, address: '192.0.2.2', id: '', taggedAddresses: {}, meta: {} };
  tx.put(catalogNodes, { ...node, checks: [] });
  for (const { row } of tx.list(catalogServices, 'node', node.uid)) {
    tx.delete(catalogServices, catalogServiceKey(node.uid, row.service.id));
  }
  const weights = { passing: 1, warning: 1 };
  const service = {
    id: name,
    name,
    kind: '',
    tags: [],
    address: '',
    port: 80,
    socketPath: '',
    meta: {},
    weights,
    taggedAddresses: {},
  };
  tx.put(catalogServices, { node: node.uid, partition, service, checks: [] });
}

export interface PeeringOperators {
  /** One thing that somebody may do. Resolves when it is done; never for one that its server did not survive. */
  something(): Promise<void>;
  /** Makes a token under `name` that the other cluster establishes under `peerName`; both must work. */
  peer(cluster: SimulatedCluster, name: string, peerName: string): Promise<void>;
  remove(cluster: SimulatedCluster, name: string): Promise<void>;
}

export function createPeeringOperators(world: PeeringWorld): PeeringOperators {
  const { random, clusters } = world;
  const tokens: CarriedToken[] = [];
  let offers = 0;

  const someServer = ({ servers }: SimulatedCluster): SimulatedServer | undefined =>
    servers.size === 0 ? undefined : random.pick([...servers.values()]);

  const generate = async ({ cluster, service }: SimulatedServer, name: string): Promise<CarriedToken> => {
    const { signal } = new AbortController();
    const { PeeringToken: text } = await generateToken(service, ASKED, { PeerName: name }, signal);
    return { cluster, name, text };
  };
  const present = ({ service }: SimulatedServer, name: string, { text }: CarriedToken): Promise<void> =>
    establish(service, ASKED, { PeerName: name, PeeringToken: text }, new AbortController().signal);

  const ACTIONS: Readonly<Record<keyof typeof WEIGHTS, (server: SimulatedServer, name: string) => Promise<unknown>>> = {
    async generate(server, name) {
      tokens.push(await generate(server, name));
      if (tokens.length > TOKENS_KEPT) tokens.shift();
    },
    async establish(server, name) {
      const foreign = tokens.filter(({ cluster }) => cluster !== server.cluster);
      const token = foreign.at(random.chance(0.7) ? -1 : random.below(foreign.length));
      if (token !== undefined) await present(server, random.chance(0.8) ? token.name : name, token);
    },
    remove: ({ service }, name) => deletePeering(service, ASKED, name),
    revoke: ({ service }, name) => revokeToken(service, ASKED, name),
    rotate: ({ trust }) => rotate(trust, ASKED),
    back: ({ trust }) => rotateBack(trust, ASKED),
    /** The cluster exports another service from now on. */
    offer: ({ state }) => state.write((tx) => putExport(tx, `s${offers++}`)),
  };
  const drawn = Object.entries(WEIGHTS).flatMap(([action, weight]) =>
    Array.from({ length: weight }, () => action as keyof typeof WEIGHTS),
  );

  const attempt = async (what: string, action: () => Promise<unknown>): Promise<void> => {
    try {
      await action();
      world.tell(`${what}: done`);
    } catch (error) {
      const isRefusal = error instanceof ServiceError && REFUSALS.includes(error.code);
      if (!isRefusal && !isStateError(error, ...FAILURES)) {
        throw new Error(`${what} failed: ${String(error)}`, { cause: error });
      }
      world.tell(`${what}: ${error.code}`);
    }
  };

  return {
    async something() {
      const server = someServer(random.pick(clusters));
      const action = random.pick(drawn);
      const name = random.pick(NAMES);
      if (server === undefined) return;
      await attempt(`${action} ${name} at ${server.address}`, () => ACTIONS[action](server, name));
    },
    async peer(cluster, name, peerName) {
      const [from, to] = [cluster, otherCluster(world, cluster)].map(someServer);
      if (from === undefined || to === undefined) throw new Error('a cluster has no server');
      await present(to, peerName, await generate(from, name));
      world.tell(`${name} at ${from.address} and ${peerName} at ${to.address} are peered anew`);
    },
    async remove(cluster, name) {
      const server = someServer(cluster);
      if (server !== undefined) await deletePeering(server.service, ASKED, name);
    },
  };
}
