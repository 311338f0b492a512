/** The operators of the peering simulation. They call the real API operations on random servers. */

import type { RequestContext } from '../../../../src/credentials/caller.ts';
import { DEFAULT_PARTITION } from '../../../../src/credentials/partition.ts';
import { ServiceError } from '../../../../src/http/errors.ts';
import { deletePeering } from '../../../../src/peering/api/delete-peering.ts';
import { establish } from '../../../../src/peering/api/establish.ts';
import { generateToken } from '../../../../src/peering/api/generate-token.ts';
import { revokeToken } from '../../../../src/peering/api/peering-token.ts';
import { catalogNodes } from '../../../../src/peering/catalog/tables/catalog-node.ts';
import { catalogServiceKey, catalogServices } from '../../../../src/peering/catalog/tables/catalog-service.ts';
import { configEntries, WILDCARD } from '../../../../src/peering/config-entries/config-entry.ts';
import { rotate } from '../../../../src/peering/trust/api/rotate.ts';
import { rotateBack } from '../../../../src/peering/trust/api/rotate-back.ts';
import { isStateError } from '../../../../src/state/errors.ts';
import type { Transaction } from '../../../../src/state/write/transaction.ts';
import type { SimulatedCluster, SimulatedServer } from './simulated-cluster.ts';
import { otherCluster, type Topology } from './topology.ts';

/** The number of peering tokens that operators keep for later use. */
const TOKENS_KEPT = 6;
const NAMES = ['p0', 'p1', 'p2'];
/** The relative frequency of each action. */
const WEIGHTS = { generate: 4, establish: 6, remove: 2, revoke: 1, rotate: 1, rotateBack: 1, replaceService: 3 };
/** The errors that an operation can return under faults. Any other error fails the simulation. */
const EXPECTED_SERVICE_ERRORS = ['permission-denied', 'conflict', 'unavailable'];
const EXPECTED_STATE_ERRORS = ['unavailable', 'outcome-unknown', 'aborted'] as const;

const REQUEST: RequestContext = {
  secretHash: undefined,
  partitions: { query: undefined, header: undefined },
  address: '192.0.2.1',
  requestId: 'simulated',
  connection: { destroyed: false },
  bodyBytes: 0,
};

interface HeldToken {
  readonly cluster: SimulatedCluster;
  readonly name: string;
  readonly text: string;
}

/** Makes `name` the only service of the cluster, and exports it to every peer. */
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

export interface Operators {
  /** Runs a random action. Never resolves when its server dies during the action. */
  runRandom(): Promise<void>;
  /** Generates a token as `name` and establishes it in the other cluster as `peerName`. Both must succeed. */
  peer(cluster: SimulatedCluster, name: string, peerName: string): Promise<void>;
  remove(cluster: SimulatedCluster, name: string): Promise<void>;
}

export function createOperators(topology: Topology): Operators {
  const { random, clusters } = topology;
  const tokens: HeldToken[] = [];
  let serviceNumber = 0;

  const pickServer = ({ servers }: SimulatedCluster): SimulatedServer | undefined =>
    servers.size === 0 ? undefined : random.pick([...servers.values()]);

  const generate = async ({ cluster, service }: SimulatedServer, name: string): Promise<HeldToken> => {
    const { signal } = new AbortController();
    const { PeeringToken: text } = await generateToken(service, REQUEST, { PeerName: name }, signal);
    return { cluster, name, text };
  };
  const present = ({ service }: SimulatedServer, name: string, { text }: HeldToken): Promise<void> =>
    establish(service, REQUEST, { PeerName: name, PeeringToken: text }, new AbortController().signal);

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
    remove: ({ service }, name) => deletePeering(service, REQUEST, name),
    revoke: ({ service }, name) => revokeToken(service, REQUEST, name),
    rotate: ({ trust }) => rotate(trust, REQUEST),
    rotateBack: ({ trust }) => rotateBack(trust, REQUEST),
    /** Replaces the exported service. */
    replaceService: ({ state }) => state.write((tx) => putExport(tx, `s${serviceNumber++}`)),
  };
  const weightedActions = Object.entries(WEIGHTS).flatMap(([action, weight]) =>
    Array.from({ length: weight }, () => action as keyof typeof WEIGHTS),
  );

  const attempt = async (description: string, action: () => Promise<unknown>): Promise<void> => {
    try {
      await action();
      topology.record(`${description}: done`);
    } catch (error) {
      const isRefusal = error instanceof ServiceError && EXPECTED_SERVICE_ERRORS.includes(error.code);
      if (!isRefusal && !isStateError(error, ...EXPECTED_STATE_ERRORS)) {
        throw new Error(`${description} failed: ${String(error)}`, { cause: error });
      }
      topology.record(`${description}: ${error.code}`);
    }
  };

  return {
    async runRandom() {
      const server = pickServer(random.pick(clusters));
      const action = random.pick(weightedActions);
      const name = random.pick(NAMES);
      if (server === undefined) return;
      await attempt(`${action} ${name} at ${server.address}`, () => ACTIONS[action](server, name));
    },
    async peer(cluster, name, peerName) {
      const [from, to] = [cluster, otherCluster(topology, cluster)].map(pickServer);
      if (from === undefined || to === undefined) throw new Error('a cluster has no server');
      await present(to, peerName, await generate(from, name));
      topology.record(`${name} at ${from.address} and ${peerName} at ${to.address} are peered`);
    },
    async remove(cluster, name) {
      const server = pickServer(cluster);
      if (server !== undefined) await deletePeering(server.service, REQUEST, name);
    },
  };
}
