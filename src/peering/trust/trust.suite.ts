/** What the tests of this part share: the identity of a cluster on a store of its own, peers in it, and a handshake. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import tls from 'node:tls';
import { createFakeClock, type FakeClock } from '../../../test/support/fake-clock.ts';
import { openState } from '../../../test/support/state/state.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { auditLog } from '../../audit/record.ts';
import { aclTokens } from '../../credentials/acl-token.ts';
import { cluster } from '../../credentials/cluster.ts';
import { EVERYTHING, type Grant } from '../../credentials/grant.ts';
import type { Asked } from '../../credentials/operation.ts';
import { DEFAULT_PARTITION, partitions } from '../../credentials/partition.ts';
import { hashSecret } from '../../credentials/secret.ts';
import { createLog } from '../../http/telemetry/log.ts';
import type { Engine } from '../../state/engine/engine.ts';
import { sqliteEngine } from '../../state/engine/sqlite/engine.ts';
import type { State } from '../../state/state.ts';
import { defineSchema } from '../../state/table.ts';
import type { Sealer } from '../../state/transfer/encryption.ts';
import { createSecretStore, type SecretStore } from '../record/encrypted-secret.ts';
import { newPeering, peerings, type Role } from '../record/record.ts';
import { acceptedSecrets } from '../record/secrets.ts';
import { acknowledgements } from './acknowledgement.ts';
import type { Trust } from './api/operation.ts';
import { authorities } from './authority.ts';
import { certificateJob } from './certificate-job.ts';
import { openServerIdentity, type ServedCertificate, type ServerIdentity } from './identity.ts';

const SCHEMA = defineSchema([
  ...[cluster, partitions, aclTokens, auditLog],
  ...[peerings, acceptedSecrets, authorities, acknowledgements],
]);

export interface TrustSettings {
  /** SQLite in a folder of its own unless given. */
  readonly engine?: Engine;
  readonly node?: string;
  readonly clock?: FakeClock;
  readonly dataKey?: Sealer;
}

export interface TrustFixture extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly state: State;
  readonly secrets: SecretStore;
  readonly identity: ServerIdentity;
  readonly trust: Trust;
  /** The secret ID of a token that holds every grant. */
  readonly token: string;
  /** Messages logged so far. */
  readonly messages: readonly string[];
  /** Runs the job here from now on. */
  startJob(): void;
}

/** The identity of the cluster whose state is in the engine. The clock begins at the machine's time: TLS goes by that. */
export async function openTrust(settings: TrustSettings = {}): Promise<TrustFixture> {
  const { clock = createFakeClock(Date.now()), dataKey } = settings;
  await using parts = new AsyncDisposableStack();
  const engine = settings.engine ?? sqliteEngine({ directory: parts.use(await temporaryDirectory()).path });
  const state = parts.use(await openState(engine, { schema: SCHEMA, node: settings.node ?? 'a', clock }));
  await decideCluster(state);
  const messages: string[] = [];
  const destination = { write: (line: string) => void messages.push((JSON.parse(line) as { msg: string }).msg) };
  const log = createLog({ level: 'debug', format: 'json', destination });
  const secrets = createSecretStore(dataKey);
  const identity = parts.use(await openServerIdentity({ state, clock, secrets, log }));
  const credentials = { state, policy: { enabled: true, defaultPolicy: 'deny' }, edition: 'enterprise' } as const;
  const token = await makeToken(state, EVERYTHING);
  const owned = parts.move();
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

/** What the first start of a server leaves. */
async function decideCluster(state: State): Promise<void> {
  await state.write((tx) => {
    if (tx.get(cluster, 'cluster') !== undefined) return;
    tx.put(cluster, { id: 'cluster', datacenter: 'dc1', createTime: new Date(tx.now).toISOString() });
    tx.put(partitions, { name: DEFAULT_PARTITION, description: '' });
  });
}

/** Makes an ACL token. @returns its secret ID */
export async function makeToken(state: State, grants: readonly Grant[]): Promise<string> {
  const secret = randomUUID();
  await state.write((tx) => {
    const createTime = new Date(tx.now).toISOString();
    const common = { accessorId: tx.once(randomUUID), description: '', partition: DEFAULT_PARTITION, createTime };
    tx.put(aclTokens, { ...common, secretHash: hashSecret(secret), grants });
  });
  return secret;
}

/** Makes a peering. @param connected whether the other side has used its token. @returns its ID */
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

/** A request without a partition of its own, by the token with this secret ID. */
export const askedWith = (token: string): Asked => ({
  secretHash: hashSecret(token),
  partitions: { query: undefined, header: undefined },
  address: '127.0.0.1',
  requestId: 'test',
  connection: { destroyed: false },
  bodyBytes: 0,
});

/**
 * What a dialer gets that trusts `ca` alone and asks for `serverName`: `h2` after a handshake over HTTP/2, else the code
 * of the failure.
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
