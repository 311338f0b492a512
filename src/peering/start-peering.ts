/**
 * The peering service as a running whole: identity, listener, what runs behind it, and endpoints, started in the order
 * in which they need each other and stopped in the other.
 */
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Credentials } from '../credentials/operation.ts';
import type { Reads } from '../http/blocking/reads.ts';
import type { Endpoint } from '../http/endpoint.ts';
import type { Log } from '../http/telemetry/log.ts';
import type { Clock } from '../state/clock/clock.ts';
import type { Sealer } from '../state/transfer/encryption.ts';
import { peeringEndpoints } from './api/endpoints.ts';
import type { AgentNode } from './catalog/agent/agent.ts';
import { moveAgentNodes } from './catalog/agent/move-agent-nodes.ts';
import { catalogEndpoints } from './catalog/endpoints.ts';
import { checkEndpoints } from './check/endpoints.ts';
import { systemResolve } from './check/resolve-host.ts';
import { entryEndpoints } from './config-entries/api/endpoints.ts';
import { sealStreamSecrets } from './encrypt-stream-secrets.ts';
import { explainEndpoints } from './explain/endpoints.ts';
import type { PeeringService } from './peering-context.ts';
import { createSecretStore } from './record/encrypted-secret.ts';
import { runPeers } from './run-peers.ts';
import { peerRoutes } from './stream/accepting/acceptor.ts';
import { listenForPeers, type PeerListener } from './stream/accepting/peer-listener.ts';
import type { SessionTimes } from './stream/contract.ts';
import { peerConnections } from './stream/dialing/peer-connection.ts';
import type { LiveStreams } from './stream/status/live-streams.ts';
import type { StreamTraffic } from './stream/status/stream-traffic.ts';
import { trustEndpoints } from './trust/api/endpoints.ts';
import { openServerIdentity } from './trust/identity.ts';

/** The settings of the service, and what it stands on. */
export interface PeeringParts {
  readonly credentials: Credentials;
  /** This server's name. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly dataKey: Sealer | undefined;
  readonly reads: Reads;
  readonly version: string;
  readonly consul: boolean;
  /** Where this server's node of the local agent is shown, and whether its services are reached there too. */
  readonly agent: Pick<AgentNode, 'address' | 'isServiceAddress'>;
  /** `peering.address` */
  readonly listen: { readonly host: string; readonly port: number };
  /** `peering.advertise`, as `host:port`; undefined: where it listens. */
  readonly advertise: readonly string[] | undefined;
  readonly sessions: SessionTimes;
  readonly tokenTtlMs: number;
  readonly peeringsMax: number;
  readonly streamsMax: number;
  /** Numbers from 0 up to 1. */
  readonly random: () => number;
}

export interface RunningPeering extends AsyncDisposable {
  /** Where peers are accepted, `host:port`. */
  readonly address: string;
  readonly service: PeeringService;
  readonly listener: PeerListener;
  readonly live: LiveStreams;
  readonly traffic: StreamTraffic;
  readonly endpoints: readonly Endpoint[];
  /** Takes no more streams and says goodbye on those that are open; resolves when their records are told. */
  stop(): Promise<void>;
}

/** Needs a loaded state whose first start has been made. @throws DataKeyError, StateError, Error of the system */
export async function startPeering(parts: PeeringParts): Promise<RunningPeering> {
  const { credentials, node, clock, log, version, reads, consul } = parts;
  const { state } = credentials;
  await using opened = new AsyncDisposableStack();
  const secrets = createSecretStore(parts.dataKey);
  const identity = opened.use(await openServerIdentity({ state, clock, secrets, log }));
  // After the identity, whose keys show that the data key is that of the state.
  await sealStreamSecrets({ state, secrets, log });
  const listener = opened.use(
    await listenForPeers({ ...parts.listen, identity, handshakeMs: parts.sessions.handshakeTimeoutMs, clock, log }),
  );
  const address = hostPortText(listener.address);
  const agent: AgentNode = { name: node, ...parts.agent };
  await moveAgentNodes(state, agent);
  const addresses = parts.advertise ?? [address];
  const peers = opened.use(
    await runPeers({ ...parts, identity, secrets, addresses, connect: peerConnections(version) }),
  );
  const { service, acceptor, live, traffic } = peers;
  listener.serve(peerRoutes(acceptor, { version, clock }));

  const owned = opened.move();
  return {
    address,
    service,
    listener,
    live,
    traffic,
    endpoints: [
      ...peeringEndpoints(service, reads),
      ...checkEndpoints({ service, around: { clock, resolve: systemResolve, version, randomId: randomUUID } }),
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

const hostPortText = ({ address, port, family }: AddressInfo): string =>
  family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`;
