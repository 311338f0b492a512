/** The whole API in the process of the test: a state, the HTTP server and every endpoint, with an injectable clock. */
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { after, before } from 'node:test';
import { parseGrant } from '../../../src/cli/input/grant.ts';
import type { AclTokenJson } from '../../../src/credentials/acl-token-to-json.ts';
import { createV1Admission } from '../../../src/credentials/admission.ts';
import { credentialsEndpoints } from '../../../src/credentials/api/endpoints.ts';
import type { AclPolicy } from '../../../src/credentials/caller.ts';
import { readCredentials } from '../../../src/credentials/credentials-file.ts';
import { createFirstCredentials } from '../../../src/credentials/first-credentials.ts';
import type { Edition } from '../../../src/credentials/partition.ts';
import { type BlockingQueries, createBlockingQueries } from '../../../src/http/blocking/blocking-query.ts';
import { openApiEndpoint } from '../../../src/http/openapi/openapi-endpoint.ts';
import { healthEndpoints } from '../../../src/http/operators/health.ts';
import { createHttpServer, type HttpServer } from '../../../src/http/server/server.ts';
import { createLog } from '../../../src/http/telemetry/log.ts';
import { rejectUnservedConsulPath } from '../../../src/http/v1/consul-paths.ts';
import { v1QueryRules } from '../../../src/http/v1/query-rules.ts';
import { v1Api } from '../../../src/http/v1-conventions.ts';
import { SCHEMA } from '../../../src/main/schema.ts';
import { createWriteRate, rowQuotas, type WriteLimits } from '../../../src/main/write-limits.ts';
import { peeringEndpoints } from '../../../src/peering/api/endpoints.ts';
import type { AgentNode } from '../../../src/peering/catalog/agent/agent.ts';
import { catalogEndpoints } from '../../../src/peering/catalog/endpoints.ts';
import { checkEndpoints } from '../../../src/peering/check/endpoints.ts';
import { systemResolve } from '../../../src/peering/check/resolve-host.ts';
import { entryEndpoints } from '../../../src/peering/config-entries/api/endpoints.ts';
import { explainEndpoints } from '../../../src/peering/explain/endpoints.ts';
import type { LocalStreams } from '../../../src/peering/explain/local-stream.ts';
import type { PeeringService } from '../../../src/peering/peering-context.ts';
import { createSecretStore } from '../../../src/peering/record/encrypted-secret.ts';
import { partitionUses } from '../../../src/peering/run/partition-uses.ts';
import { createDeniedNetworks } from '../../../src/peering/stream/dialing/denied-networks.ts';
import { openServerIdentity } from '../../../src/peering/trust/identity.ts';
import { type Clock, systemClock } from '../../../src/state/clock/clock.ts';
import type { Engine } from '../../../src/state/engine/engine.ts';
import { sqliteEngine } from '../../../src/state/engine/sqlite/engine.ts';
import type { State } from '../../../src/state/state.ts';
import type { TextCipher } from '../../../src/state/transfer/encryption.ts';
import { teamAccessApi } from '../../../src/team-access/http/api-description.ts';
import type { Invitations } from '../../../src/team-access/http/request-pipeline.ts';
import { renderServerError } from '../../../src/team-access/jsonapi/error-answer.ts';
import { startTeamAccess } from '../../../src/team-access/start-team-access.ts';
import { inProcessExchange, makeReachable } from '../peering/in-process-exchange.ts';
import { openState } from '../state/state.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { until } from '../until.ts';
import { type Answer, type RequestOptions, send } from './server.ts';

export interface ApiSettings {
  /** Default: SQLite in a temporary directory. */
  readonly engine?: Engine;
  /** The name of the node, unique per store. */
  readonly node?: string;
  /** Changes to the node of the local agent. */
  readonly agent?: Partial<AgentNode>;
  readonly clock?: Clock;
  readonly policy?: Partial<AclPolicy>;
  readonly edition?: Edition;
  /** `compat: consul`. */
  readonly consul?: boolean;
  /** `compat: terraform`. */
  readonly terraform?: boolean;
  /** `team-access.invitations`. */
  readonly invitations?: Invitations;
  /** `team-access.rate-limit`. Default: no limit. */
  readonly rateLimit?: number;
  readonly dataKey?: TextCipher;
  /** `limits.rate-per-token`. Default: no limit. */
  readonly ratePerToken?: number;
  /** `limits.bodies`. */
  readonly bodies?: number;
  /** `limits.waiting-per-token`. */
  readonly waitingPerTokenMax?: number;
  /** Limits of what callers add to the state. Default: only those of organizations per user. */
  readonly limits?: Partial<StateLimits>;
  /** The streams of this server. Default: none. */
  readonly live?: LocalStreams['live'];
  /** Dependencies of the peering service that replace the defaults. */
  readonly peering?: Partial<Pick<PeeringService, 'exchange' | 'streams' | 'addresses' | 'tokenTtlMs' | 'peeringsMax'>>;
}

/** The settings `state.rows-max` and `limits.…` with the same names. */
interface StateLimits extends WriteLimits {
  readonly rowsMax: number;
  readonly organizationsPerUser: number;
}

/** The response to the creation of a token, with its secret ID. */
export type CreatedToken = AclTokenJson & { readonly SecretID: string };

export interface Api extends AsyncDisposable {
  readonly address: string;
  /** The data directory. */
  readonly directory: string;
  readonly state: State;
  readonly server: HttpServer;
  readonly reads: BlockingQueries;
  readonly peering: PeeringService;
  /** The secret ID of the first ACL token, which has every grant. Empty if another node created it. */
  readonly token: string;
  /** The token of the first user, a site administrator. Empty if another node created it. */
  readonly adminToken: string;
  /** Resolves when the recorded uses of team access tokens are committed, so that they cause no later commit. */
  usesWritten(): Promise<void>;
  /** Returns all log lines so far, at level `debug` and above. */
  log(): string;
  /** Sends a request with the first token, unless `options` has another token or `null`. */
  request(method: string, pathAndQuery: string, options?: RequestOptions): Promise<Answer>;
  /** Creates a token with grants such as `acl:read@eu`. */
  makeToken(grants: readonly string[], body?: Readonly<Record<string, unknown>>): Promise<CreatedToken>;
  makePartitions(...names: string[]): Promise<void>;
  /** Sends a blocking query and resolves when it waits. `answer` resolves with the response. */
  startBlockingQuery(pathAndQuery: string, options?: RequestOptions): Promise<{ readonly answer: Promise<Answer> }>;
}

/** Starts one API for all tests of the surrounding `describe`. The tests must not depend on each other's changes. */
export function sharedApi(settings?: ApiSettings): () => Api {
  let api: Api | undefined;
  before(async () => {
    api = await startApi(settings);
  });
  after(() => api?.[Symbol.asyncDispose]());
  return () => {
    if (api === undefined) throw new Error('the shared API exists inside tests only');
    return api;
  };
}

/** The default of `stale.max-age`. */
const STALE_MS = 600_000;
/** The default of `peering.token-ttl`. */
const TOKEN_TTL_MS = 7 * 24 * 60 * 60 * 1000;

const DEFAULT_LIMITS: StateLimits = {
  rowsMax: 1_000_000,
  rowsPerOrganization: 500_000,
  rowsPerUser: 500_000,
  rowsPerPartition: 1_000_000,
  organizationsPerUser: 100,
  writeRate: 'off',
};

/** Starts the API and creates the first credentials. */
export async function startApi(settings: ApiSettings = {}): Promise<Api> {
  const { clock = systemClock, consul = false, edition = 'enterprise', dataKey, node = 'a' } = settings;
  await using parts = new AsyncDisposableStack();
  const directory = parts.use(await temporaryDirectory()).path;
  const limits = { ...DEFAULT_LIMITS, ...settings.limits };
  const writeRate = createWriteRate(limits, clock);
  const state = parts.use(
    await openState(settings.engine ?? sqliteEngine({ directory }), {
      schema: SCHEMA,
      clock,
      node,
      rowsMax: limits.rowsMax,
      quotas: rowQuotas(limits, limits.rowsMax, Number.POSITIVE_INFINITY),
      ...(writeRate && { writeRate }),
    }),
  );
  const lines: string[] = [];
  const log = createLog({
    level: 'debug',
    format: 'json',
    destination: { write: (line: string) => void lines.push(line) },
  });
  const server = createHttpServer({
    host: '127.0.0.1',
    port: 0,
    allowedOrigins: [],
    limits: {
      connections: 1_000,
      connectionsPerAddress: 1_000,
      bodies: settings.bodies ?? 64 * 1024 * 1024,
      body: 1024 * 1024,
      bulkBody: 16 * 1024 * 1024,
    },
    errorRenderers: { '/api/v2/': renderServerError },
    consul,
    requestIdPrefix: 'test',
    clock,
    log,
  });
  const { port } = await server.listen();
  parts.defer(() => server.stop(0));
  const address = `http://127.0.0.1:${port}`;
  const presetSecrets = () => ({ aclToken: undefined, adminToken: undefined });
  await createFirstCredentials({ state, clock, directory, address, datacenter: 'dc1', presetSecrets });
  const made = await readCredentials(directory);
  const token = made?.peering.secretId ?? '';

  const policy: AclPolicy = { enabled: true, defaultPolicy: 'deny', ...settings.policy };
  const { defaultPolicy } = policy;
  const reads = createBlockingQueries({
    state,
    clock,
    random: () => 0,
    defaultPolicy,
    staleMaxAgeMs: STALE_MS,
    waitingMax: 10_000,
    waitingPerTokenMax: settings.waitingPerTokenMax ?? 10_000,
    waitingPerAddressMax: 10_000,
  });
  server.onStop(() => reads.drain());
  const credentials = { state, policy, edition };
  const secrets = createSecretStore(dataKey);
  const peering: PeeringService = {
    credentials,
    clock,
    identity: parts.use(await openServerIdentity({ state, clock, secrets, log })),
    secrets,
    exchange: inProcessExchange,
    streams: { of: () => undefined, tick: 0 },
    addresses: () => ['127.0.0.1:8503'],
    tokenTtlMs: TOKEN_TTL_MS,
    peeringsMax: 10_000,
    consul,
    ...settings.peering,
  };
  parts.use(makeReachable(peering));
  const agentNode: AgentNode = { name: node, address: '127.0.0.1', isServiceAddress: true, ...settings.agent };
  const endpoints = [
    ...credentialsEndpoints({ credentials, reads, clock, consul, dataKey, partitionUses }),
    ...peeringEndpoints(peering, reads),
    ...catalogEndpoints({ credentials, reads, agent: agentNode, consul }),
    ...entryEndpoints({ credentials, reads, consul }),
    ...explainEndpoints({ credentials, streams: { node, live: settings.live ?? new Map() }, consul }),
    ...checkEndpoints({
      service: peering,
      environment: {
        clock,
        resolve: systemResolve,
        denied: createDeniedNetworks([]),
        version: '1.13.0',
        randomId: randomUUID,
      },
    }),
  ];
  const operators = healthEndpoints({ state, staleMaxAgeMs: STALE_MS, version: { Version: 'test' } });
  const teamAccess = parts.use(
    startTeamAccess({
      state,
      clock,
      log,
      settings: { rateLimit: settings.rateLimit ?? 0 },
      organizationsPerUser: limits.organizationsPerUser,
      invitations: settings.invitations ?? 'automatic',
      terraform: settings.terraform ?? false,
    }),
  );
  const admission = createV1Admission({
    credentials,
    consul,
    clock,
    settings: { ratePerToken: settings.ratePerToken ?? 0 },
    rejectUnmatched: consul ? rejectUnservedConsulPath : undefined,
  });
  server.admitWith('/v1/', admission);
  server.admitWith('/api/v2/', teamAccess.admission);
  const queries = v1QueryRules(server.endpoints, () => 'dc1');
  for (const endpoint of endpoints) server.add(queries.checked(endpoint));
  for (const endpoint of [...operators, ...teamAccess.endpoints]) server.add(endpoint);
  server.add(teamAccess.checked(openApiEndpoint(server.endpoints, teamAccessApi('test'))));
  server.add(queries.checked(openApiEndpoint(server.endpoints, v1Api('test'))));
  await server.open();
  const agent = new http.Agent({ keepAlive: true });
  parts.defer(() => agent.destroy());

  const owned = parts.move();
  const api: Api = {
    address,
    directory,
    state,
    server,
    reads,
    peering,
    token,
    adminToken: made?.teamAccess.token ?? '',
    usesWritten: () => teamAccess.usesWritten(),
    log: () => lines.join(''),
    request: (method, pathAndQuery, options = {}) => send(agent, address, method, pathAndQuery, { token, ...options }),
    async makeToken(grants, body = {}) {
      const answer = await api.request('PUT', '/v1/acl/token', {
        body: { ...body, Grants: grants.map((text) => parseGrant(text)) },
      });
      if (answer.status !== 200) throw new Error(`cannot create a token: ${answer.status} ${answer.text}`);
      return answer.json<CreatedToken>();
    },
    async makePartitions(...names) {
      for (const name of names) {
        const answer = await api.request('PUT', `/v1/partition/${name}`, { body: {} });
        if (answer.status !== 200)
          throw new Error(`cannot create partition '${name}': ${answer.status} ${answer.text}`);
      }
    },
    async startBlockingQuery(pathAndQuery, options = {}) {
      const before = reads.waitingCount;
      const answer = api.request('GET', pathAndQuery, options);
      const early = answer.then(({ status, text }) => {
        throw new Error(`the query did not wait: ${status} ${text}`);
      });
      await Promise.race([until('the query waits', () => reads.waitingCount > before), early]);
      early.catch(() => undefined);
      return { answer };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
  return api;
}
