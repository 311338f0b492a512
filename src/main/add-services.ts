/** Adds the services and their endpoints to a loaded state and a listener that does not accept requests yet. */

import { networkInterfaces } from 'node:os';
import type { Rate } from '../budget/rate.ts';
import { formatHostPort } from '../config/network-kinds.ts';
import type { Config } from '../config.ts';
import { permits } from '../credentials/acl-token.ts';
import { createV1Admission } from '../credentials/admission.ts';
import { credentialsEndpoints } from '../credentials/api/endpoints.ts';
import { authenticate, type Credentials, requestContextOf } from '../credentials/caller.ts';
import { cluster } from '../credentials/cluster.ts';
import { hashSecret } from '../credentials/ids-and-secrets.ts';
import { createBlockingQueries } from '../http/blocking/blocking-query.ts';
import type { Call } from '../http/call.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { openApiEndpoint } from '../http/openapi/openapi-endpoint.ts';
import { healthEndpoints } from '../http/operators/health.ts';
import { createMetrics } from '../http/operators/metrics.ts';
import type { HttpServer } from '../http/server/server.ts';
import type { Log } from '../http/telemetry/log.ts';
import { rejectUnservedConsulPath } from '../http/v1/consul-paths.ts';
import { v1QueryRules } from '../http/v1/query-rules.ts';
import { v1Api } from '../http/v1-conventions.ts';
import { dnsMetrics } from '../peering/dns/dns-metrics.ts';
import { type RunningDns, startDns } from '../peering/dns/start-dns.ts';
import { partitionUses } from '../peering/run/partition-uses.ts';
import { peeringMetrics } from '../peering/run/peering-metrics.ts';
import type { Clock } from '../state/clock/clock.ts';
import type { State } from '../state/state.ts';
import type { TextCipher } from '../state/transfer/encryption.ts';
import { teamAccessApi } from '../team-access/http/api-description.ts';
import { agentAddress } from './agent-address.ts';
import { describeListenErrors } from './listener.ts';
import { addCrowdedHolders } from './write-limits.ts';

/** Settings that SIGHUP changes in a running server. */
export interface LiveSettings {
  /** `team-access.rate-limit`. */
  rateLimit: number;
  /** `limits.rate-per-token`. */
  ratePerToken: number;
}

/** The parts of a server that the steps of its start share. */
export interface ServerContext {
  readonly config: Config;
  readonly live: Readonly<LiveSettings>;
  readonly clock: Clock;
  readonly log: Log;
  readonly dataKey: TextCipher | undefined;
  readonly state: State;
  /** The rate of bytes that callers write; absent if `limits.write-rate` is off. */
  readonly writeRate: Rate | undefined;
  readonly server: HttpServer;
}

/** Adds every endpoint and starts (and loads) only the services that the settings name. Disposing stops them. */
export async function addServices(context: ServerContext, version: string): Promise<AsyncDisposable> {
  const { config, clock, log, dataKey, state, server } = context;
  await using parts = new AsyncDisposableStack();
  const consul = config.compat.includes('consul');
  const reads = createBlockingQueries({
    state,
    clock,
    random: Math.random,
    defaultPolicy: config.acl.defaultPolicy,
    staleMaxAgeMs: config.stale.maxAge,
    waitingMax: config.limits.waiting,
    waitingPerTokenMax: config.limits.waitingPerToken,
    waitingPerAddressMax: config.limits.connectionsPerAddress,
  });
  server.onStop(() => reads.drain());
  const policy = { enabled: config.acl.enabled, defaultPolicy: config.acl.defaultPolicy };
  const credentials = { state, policy, edition: config.cluster.edition };
  const queries = v1QueryRules(
    server.endpoints,
    () => state.snapshot.get(cluster, 'cluster')?.row.datacenter ?? config.cluster.datacenter,
  );
  const addV1 = (endpoint: Endpoint): void => server.add(queries.checked(endpoint));
  const metrics = createMetrics({
    server,
    state,
    reads,
    mayReadRestricted: (call) => hasOperatorRead(credentials, call, consul),
  });
  const rejectUnmatched = consul ? rejectUnservedConsulPath : undefined;
  const admission = createV1Admission({ credentials, consul, clock, settings: context.live, rejectUnmatched });
  server.admitWith('/v1/', admission);
  for (const budget of [...server.budgets, ...admission.rates, reads.budget]) metrics.addBudget(budget);
  metrics.addBudget(state.admission);
  if (context.writeRate !== undefined) metrics.addBudget(context.writeRate);
  addCrowdedHolders(metrics.restricted, state.admission);
  server.add(metrics.endpoint);
  const operators = healthEndpoints({ state, staleMaxAgeMs: config.stale.maxAge, version: { Version: version } });
  for (const endpoint of operators) server.add(endpoint);
  for (const endpoint of credentialsEndpoints({ credentials, reads, clock, consul, dataKey, partitionUses })) {
    addV1(endpoint);
  }
  if (config.services.includes('peering')) {
    const settings = peeringSettings(config);
    const { startPeering } = await import('../peering/run/start-peering.ts');
    const peering = parts.use(
      await describeListenErrors(
        'peering.address',
        startPeering({
          ...context,
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
    for (const endpoint of peering.endpoints) addV1(endpoint);
    peeringMetrics(metrics, peering);
    log.info({ address: peering.address }, 'peer listener ready');
    if (!settings.agent.isServiceAddress) {
      const { address } = settings.agent;
      const effect = 'the node has this address, and its services must register with an address of their own';
      log.info({ address, effect }, 'http.address is a wildcard address and cannot be advertised');
    }
    const dns = await startDiscovery(context, credentials);
    if (dns !== undefined) {
      parts.use(dns);
      dnsMetrics(metrics, dns);
      for (const budget of dns.budgets) metrics.addBudget(budget);
      log.info({ address: dns.address }, 'DNS listener ready');
    }
  }
  if (config.services.includes('team-access')) {
    const { startTeamAccess } = await import('../team-access/start-team-access.ts');
    const terraform = config.compat.includes('terraform');
    const { organizationsPerUser } = config.limits;
    const { invitations } = config.teamAccess;
    const teamAccess = parts.use(
      startTeamAccess({ state, clock, log, settings: context.live, organizationsPerUser, invitations, terraform }),
    );
    server.admitWith('/api/v2/', teamAccess.admission);
    for (const budget of teamAccess.budgets) metrics.addBudget(budget);
    for (const endpoint of teamAccess.endpoints) server.add(endpoint);
    server.add(teamAccess.checked(openApiEndpoint(server.endpoints, teamAccessApi(version))));
  }
  addV1(openApiEndpoint(server.endpoints, v1Api(version)));
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
    denyNetworks: peering.denyNetworks,
    tokenTtlMs: peering.tokenTtl,
    peeringsMax: limits.peerings,
    streamsMax: limits.streams,
  };
}

/** Starts the DNS listener. Returns `undefined` if `dns.address` is `off`. @throws ConfigError, ListenError */
async function startDiscovery(
  { config: { dns }, clock, log }: ServerContext,
  credentials: Credentials,
): Promise<RunningDns | undefined> {
  if (dns.address === 'off') return undefined;
  const secretHash = dns.token && hashSecret(dns.token.read());
  const { address: listen, domain, ttl } = dns;
  return await describeListenErrors(
    'dns.address',
    startDns({ credentials, listen, domain, ttlSeconds: ttl / 1000, secretHash, clock, log, random: Math.random }),
  );
}

/** Whether the caller has `operator:read`, which metrics with names require. */
function hasOperatorRead({ state, policy }: Credentials, call: Call, consul: boolean): boolean {
  const { grants } = authenticate(state.snapshot, requestContextOf(call, consul).secretHash, policy);
  return permits(grants, { resource: 'operator', access: 'read', partition: '*' });
}
