/** The services with their endpoints, on a state that is loaded and a listener that does not let requests in yet. */

import { networkInterfaces } from 'node:os';
import { formatHostPort } from '../config/network-kinds.ts';
import type { Config } from '../config.ts';
import { credentialsEndpoints } from '../credentials/api/endpoints.ts';
import { authenticate } from '../credentials/caller.ts';
import { permits } from '../credentials/grant.ts';
import type { Credentials } from '../credentials/operation.ts';
import { askedBy } from '../credentials/request-context.ts';
import { hashSecret } from '../credentials/secret.ts';
import { createReads } from '../http/blocking/reads.ts';
import type { Call } from '../http/call.ts';
import { openApiEndpoint } from '../http/openapi/openapi-endpoint.ts';
import { operatorEndpoints } from '../http/operators/health.ts';
import { createMetrics } from '../http/operators/metrics.ts';
import type { HttpServer } from '../http/server/server.ts';
import type { Log } from '../http/telemetry/log.ts';
import { v1Api } from '../http/v1-conventions.ts';
import { usedByCatalog } from '../peering/catalog/tables/partition-use.ts';
import { usedByEntries } from '../peering/config-entries/partition-use.ts';
import { dnsMetrics } from '../peering/dns/dns-metrics.ts';
import { type RunningDns, startDns } from '../peering/dns/start-dns.ts';
import { peeringMetrics } from '../peering/peering-metrics.ts';
import { usedByPeerings } from '../peering/record/partition-use.ts';
import type { Clock } from '../state/clock/clock.ts';
import type { State } from '../state/state.ts';
import type { Sealer } from '../state/transfer/encryption.ts';
import { teamAccessApi } from '../team-access/http/conventions.ts';
import { agentAddress } from './agent-address.ts';
import { listening } from './listening.ts';

/** Settings that SIGHUP changes while requests come in. */
export interface LiveSettings {
  /** `team-access.rate-limit`. */
  rateLimit: number;
}

/** What the steps of a start share. */
export interface Made {
  readonly config: Config;
  readonly live: Readonly<LiveSettings>;
  readonly clock: Clock;
  readonly log: Log;
  readonly dataKey: Sealer | undefined;
  readonly state: State;
  readonly server: HttpServer;
}

/**
 * Adds every endpoint, and starts the services behind them, whose code is loaded only where the settings name them.
 * @returns stops these
 */
export async function addServices(made: Made, version: string): Promise<AsyncDisposable> {
  const { config, clock, log, dataKey, state, server } = made;
  await using parts = new AsyncDisposableStack();
  const consul = config.compat.includes('consul');
  const reads = createReads({
    state,
    clock,
    random: Math.random,
    defaultPolicy: config.acl.defaultPolicy,
    staleMaxAgeMs: config.stale.maxAge,
    waitingMax: config.limits.waiting,
    waitingPerTokenMax: config.limits.waitingPerToken,
  });
  server.onStop(() => reads.drain());
  const policy = { enabled: config.acl.enabled, defaultPolicy: config.acl.defaultPolicy };
  const credentials = { state, policy, edition: config.cluster.edition };
  const metrics = createMetrics({
    server,
    state,
    reads,
    mayReadNames: (call) => isOperator(credentials, call, consul),
  });
  server.add(metrics.endpoint);
  const operators = operatorEndpoints({ state, staleMaxAgeMs: config.stale.maxAge, version: { Version: version } });
  for (const endpoint of operators) server.add(endpoint);
  const partitionUses = [usedByPeerings, usedByCatalog, usedByEntries];
  for (const endpoint of credentialsEndpoints({ credentials, reads, clock, consul, dataKey, partitionUses })) {
    server.add(endpoint);
  }
  if (config.services.includes('peering')) {
    const settings = peeringSettings(config);
    const { startPeering } = await import('../peering/start-peering.ts');
    const peering = parts.use(
      await listening(
        'peering.address',
        startPeering({
          ...made,
          ...settings,
          credentials,
          reads,
          consul,
          version,
          random: Math.random,
        }),
      ),
    );
    parts.defer(() => peering.stop());
    for (const endpoint of peering.endpoints) server.add(endpoint);
    peeringMetrics(metrics, peering);
    log.info({ address: peering.address }, 'accepting peers');
    if (!settings.agent.isServiceAddress) {
      const { address } = settings.agent;
      log.info(
        { address },
        'http.address is no place: the node is shown here, and its services must give their Address',
      );
    }
    const dns = await startDiscovery(made, credentials);
    if (dns !== undefined) {
      parts.use(dns);
      dnsMetrics(metrics, dns);
      log.info({ address: dns.address }, 'answering over DNS');
    }
  }
  if (config.services.includes('team-access')) {
    const { startTeamAccess } = await import('../team-access/start-team-access.ts');
    const rateLimit = (): number => made.live.rateLimit;
    const terraform = config.compat.includes('terraform');
    const teamAccess = parts.use(startTeamAccess({ state, clock, log, rateLimit, terraform }));
    for (const endpoint of teamAccess.endpoints) server.add(endpoint);
    server.add(teamAccess.counted(openApiEndpoint(server.endpoints, teamAccessApi(version))));
    server.countUnserved('/api/v2/', teamAccess.countUnserved);
  }
  server.add(openApiEndpoint(server.endpoints, v1Api(version)));
  return parts.move();
}

function peeringSettings({ node, http, peering, limits }: Config) {
  return {
    node: node.name,
    agent: agentAddress(http.address.host, networkInterfaces()),
    listen: peering.address,
    advertise: peering.advertise?.map(formatHostPort),
    sessions: {
      heartbeatIntervalMs: peering.heartbeatInterval,
      heartbeatTimeoutMs: peering.heartbeatTimeout,
      handshakeTimeoutMs: limits.streamHandshake,
    },
    tokenTtlMs: peering.tokenTtl,
    peeringsMax: limits.peerings,
    streamsMax: limits.streams,
  };
}

/** Undefined: `dns.address` is off. @throws ConfigError, ListenError */
async function startDiscovery(
  { config: { dns }, clock, log }: Made,
  credentials: Credentials,
): Promise<RunningDns | undefined> {
  if (dns.address === 'off') return undefined;
  const secretHash = dns.token && hashSecret(dns.token.read());
  const { address: listen, domain, ttl } = dns;
  return await listening(
    'dns.address',
    startDns({ credentials, listen, domain, ttlSeconds: ttl / 1000, secretHash, clock, log, random: Math.random }),
  );
}

/** Whether metrics may tell the caller the names of things. */
function isOperator({ state, policy }: Credentials, call: Call, consul: boolean): boolean {
  const { grants } = authenticate(state.snapshot, askedBy(call, consul).secretHash, policy);
  return permits(grants, { resource: 'operator', access: 'read', partition: '*' });
}
