/** Fixtures of the tests of certificates: a cluster identity with its own store, peerings, and TLS handshakes. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import tls from 'node:tls';
import { createFakeClock, type FakeClock } from '../../../test/support/fake-clock.ts';
import { openState } from '../../../test/support/state/state.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { auditLog } from '../../audit/record.ts';
import { ALL_GRANTS, aclTokens, type Grant } from '../../credentials/acl-token.ts';
import type { RequestContext } from '../../credentials/caller.ts';
import { cluster } from '../../credentials/cluster.ts';
import { hashSecret } from '../../credentials/ids-and-secrets.ts';
import { DEFAULT_PARTITION, partitions } from '../../credentials/partition.ts';
import { createLog } from '../../http/telemetry/log.ts';
import type { Engine } from '../../state/engine/engine.ts';
import { sqliteEngine } from '../../state/engine/sqlite/engine.ts';
import type { State } from '../../state/state.ts';
import { defineSchema } from '../../state/table.ts';
import type { TextCipher } from '../../state/transfer/encryption.ts';
import { createSecretStore, type SecretStore } from '../record/encrypted-secret.ts';
import { newPeering, peerings, type Role } from '../record/record.ts';
import { acceptedSecrets } from '../record/secrets.ts';
import { acknowledgments } from './acknowledgment.ts';
import type { TrustContext } from './api/trust-context.ts';
import { authorities } from './authority.ts';
import { certificateJob } from './certificate-job.ts';
import { openServerIdentity, type ServedCertificate, type ServerIdentity } from './identity.ts';

const SCHEMA = defineSchema([
  ...[cluster, partitions, aclTokens, auditLog],
  ...[peerings, acceptedSecrets, authorities, acknowledgments],
]);

export interface TrustSettings {
  /** Defaults to SQLite in a new folder. */
  readonly engine?: Engine;
  readonly node?: string;
  readonly clock?: FakeClock;
  readonly dataKey?: TextCipher;
}

export interface TrustFixture extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly state: State;
  readonly secrets: SecretStore;
  readonly identity: ServerIdentity;
  readonly trust: TrustContext;
  /** The secret ID of a token with every grant. */
  readonly token: string;
  /** The messages logged so far. */
  readonly messages: readonly string[];
  /** Starts the certificate job. */
  startJob(): void;
}

/** Opens the identity of a cluster. The fake clock starts at the current time, because TLS checks dates against it. */
export async function openTrust(settings: TrustSettings = {}): Promise<TrustFixture> {
  const { clock = createFakeClock(Date.now()), dataKey } = settings;
  await using stack = new AsyncDisposableStack();
  const engine = settings.engine ?? sqliteEngine({ directory: stack.use(await temporaryDirectory()).path });
  const state = stack.use(await openState(engine, { schema: SCHEMA, node: settings.node ?? 'a', clock }));
  await createCluster(state);
  const messages: string[] = [];
  const destination = { write: (line: string) => void messages.push((JSON.parse(line) as { msg: string }).msg) };
  const log = createLog({ level: 'debug', format: 'json', destination });
  const secrets = createSecretStore(dataKey);
  const identity = stack.use(await openServerIdentity({ state, clock, secrets, log }));
  const credentials = { state, policy: { enabled: true, defaultPolicy: 'deny' }, edition: 'enterprise' } as const;
  const token = await makeToken(state, ALL_GRANTS);
  const owned = stack.move();
  return {
    clock,
    state,
    secrets,
    identity,
    trust: { credentials, clock, secrets, name: identity },
    token,
    messages,
    startJob: () => state.addJob(certificateJob({ state, clock, secrets, name: identity, log })),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Writes the rows that the first start of a server creates. */
async function createCluster(state: State): Promise<void> {
  await state.write((tx) => {
    if (tx.get(cluster, 'cluster') !== undefined) return;
    tx.put(cluster, { id: 'cluster', datacenter: 'dc1', createTime: new Date(tx.now).toISOString() });
    tx.put(partitions, { name: DEFAULT_PARTITION, description: '' });
  });
}

/** Creates an ACL token. @returns its secret ID */
export async function makeToken(state: State, grants: readonly Grant[]): Promise<string> {
  const secret = randomUUID();
  await state.write((tx) => {
    const createTime = new Date(tx.now).toISOString();
    const common = {
      accessorId: tx.memoizeAcrossRetries(randomUUID),
      description: '',
      partition: DEFAULT_PARTITION,
      createTime,
    };
    tx.put(aclTokens, { ...common, secretHash: hashSecret(secret), grants });
  });
  return secret;
}

/** Creates a peering. @param connected whether the peer has used its token. @returns the ID of the peering */
export async function makePeering(
  state: State,
  name: string,
  { role = 'accepting', connected = true }: { readonly role?: Role; readonly connected?: boolean } = {},
): Promise<string> {
  const id = randomUUID();
  await state.write((tx) => {
    tx.put(peerings, newPeering({ id, name, partition: DEFAULT_PARTITION, role, meta: {} }));
    if (role === 'accepting') {
      const createTime = new Date(tx.now).toISOString();
      tx.put(acceptedSecrets, {
        peeringId: id,
        ...(connected ? { active: hashSecret(id) } : { establishment: { hash: hashSecret(id), createTime } }),
      });
    }
  });
  return id;
}

/** Returns the context of a request that names no partition. @param token a secret ID */
export const requestContextFor = (token: string): RequestContext => ({
  secretHash: hashSecret(token),
  partitions: { query: undefined, header: undefined },
  address: '127.0.0.1',
  requestId: 'test',
  connection: { destroyed: false },
  bodyBytes: 0,
});

/**
 * Makes a TLS handshake with `served` as a client that trusts only `ca` and verifies `serverName`. Returns the ALPN
 * protocol, or the error code when the handshake failed.
 */
export async function dial(served: ServedCertificate, ca: readonly string[], serverName: string): Promise<string> {
  const server = http2.createSecureServer(served);
  server.on('sessionError', () => undefined);
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = tls.connect({ port, host: '127.0.0.1', ca: [...ca], servername: serverName, ALPNProtocols: ['h2'] });
  try {
    await once(socket, 'secureConnect');
    return String(socket.alpnProtocol);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  } finally {
    socket.destroy();
    server.close();
  }
}
