/**
 * The composition of the peering service: identity, listener, streams and endpoints. They start in the order of their
 * dependencies and stop in reverse order.
 */
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Credentials } from '../../credentials/caller.ts';
import type { BlockingQueries } from '../../http/blocking/blocking-query.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import type { Log } from '../../http/telemetry/log.ts';
import type { Clock } from '../../state/clock/clock.ts';
import type { TextCipher } from '../../state/transfer/encryption.ts';
import { peeringEndpoints } from '../api/endpoints.ts';
import type { AgentNode } from '../catalog/agent/agent.ts';
import { moveAgentNodes } from '../catalog/agent/move-agent-nodes.ts';
import { catalogEndpoints } from '../catalog/endpoints.ts';
import { checkEndpoints } from '../check/endpoints.ts';
import { systemResolve } from '../check/resolve-host.ts';
import { entryEndpoints } from '../config-entries/api/endpoints.ts';
import { explainEndpoints } from '../explain/endpoints.ts';
import type { PeeringService } from '../peering-context.ts';
import { createSecretStore } from '../record/encrypted-secret.ts';
import { peerRoutes } from '../stream/accepting/acceptor.ts';
import { listenForPeers, type PeerListener } from '../stream/accepting/peer-listener.ts';
import type { SessionTimes } from '../stream/contract.ts';
import { createDeniedNetworks } from '../stream/dialing/denied-networks.ts';
import { peerConnections } from '../stream/dialing/peer-connection.ts';
import type { ImportBudgets } from '../stream/importing/import-budgets.ts';
import type { LiveStreams } from '../stream/status/live-streams.ts';
import type { StreamTraffic } from '../stream/status/stream-traffic.ts';
import { trustEndpoints } from '../trust/api/endpoints.ts';
import { openServerIdentity } from '../trust/identity.ts';
import { encryptStreamSecrets } from './encrypt-stream-secrets.ts';
import { runPeers } from './run-peers.ts';

export interface PeeringOptions {
  readonly credentials: Credentials;
  /** This server's name. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly dataKey: TextCipher | undefined;
  readonly reads: BlockingQueries;
  readonly version: string;
  readonly consul: boolean;
  /** The address of this server's node in the catalog, and whether its services are reached there too. */
  readonly agent: Pick<AgentNode, 'address' | 'isServiceAddress'>;
  /** `peering.address` */
  readonly listen: { readonly host: string; readonly port: number };
  /** `peering.advertise`, as `host:port`. `undefined`: the listening address. */
  readonly advertise: readonly string[] | undefined;
  /** `peering.deny-networks` */
  readonly denyNetworks: readonly string[];
  readonly sessions: SessionTimes;
  readonly tokenTtlMs: number;
  readonly peeringsMax: number;
  readonly streamsMax: number;
  /** Returns a number from 0 up to 1, as `Math.random` does. */
  readonly random: () => number;
}

export interface RunningPeering extends AsyncDisposable {
  /** The listening address for peers, `host:port`. */
  readonly address: string;
  readonly service: PeeringService;
  readonly listener: PeerListener;
  readonly live: LiveStreams;
  readonly traffic: StreamTraffic;
  readonly budgets: ImportBudgets;
  readonly endpoints: readonly Endpoint[];
  /** Stops accepting and closes the open streams. Resolves when their records are updated. */
  stop(): Promise<void>;
}

/** Requires a loaded state after its first start. @throws DataKeyError, StateError, system errors such as EADDRINUSE */
export async function startPeering(parts: PeeringOptions): Promise<RunningPeering> {
  const { credentials, node, clock, log, version, reads, consul } = parts;
  const { state } = credentials;
  await using opened = new AsyncDisposableStack();
  const secrets = createSecretStore(parts.dataKey);
  const identity = opened.use(await openServerIdentity({ state, clock, secrets, log }));
  // The identity comes first, because decrypting its keys proves that the data key belongs to the state.
  await encryptStreamSecrets({ state, secrets, log });
  const listener = opened.use(
    await listenForPeers({ ...parts.listen, identity, handshakeMs: parts.sessions.handshakeTimeoutMs, clock, log }),
  );
  const address = formatHostPort(listener.address);
  const agent: AgentNode = { name: node, ...parts.agent };
  await moveAgentNodes(state, agent);
  const addresses = parts.advertise ?? [address];
  const denied = createDeniedNetworks(parts.denyNetworks);
  const peers = opened.use(
    await runPeers({ ...parts, identity, secrets, addresses, connect: peerConnections(version, denied) }),
  );
  const { service, acceptor, live, traffic, budgets } = peers;
  listener.serve(peerRoutes(acceptor, { version, clock }));

  const owned = opened.move();
  return {
    address,
    service,
    listener,
    live,
    traffic,
    budgets,
    endpoints: [
      ...peeringEndpoints(service, reads),
      ...checkEndpoints({
        service,
        environment: { clock, resolve: systemResolve, denied, version, randomId: randomUUID },
      }),
      ...catalogEndpoints({ credentials, reads, agent, consul }),
      ...entryEndpoints({ credentials, reads, consul }),
      ...explainEndpoints({ credentials, streams: { node, live: live.byPeering }, consul }),
      ...trustEndpoints({ trust: { credentials, clock, secrets, name: identity }, reads, consul }),
    ],
    async stop() {
      listener.close();
      await peers.stop();
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const formatHostPort = ({ address, port, family }: AddressInfo): string =>
  family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`;
