import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { startPeeringService } from '../../../test/support/peering/start-peering-service.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import { sqliteStore } from '../../../test/support/state/store.ts';
import { createLog } from '../../http/telemetry/log.ts';
import { dataKeyCipher } from '../../state/transfer/encryption.ts';
import { ENCRYPTIONS_IN_PARALLEL_MAX } from '../limits.ts';
import { createSecretStore, DataKeyError } from '../record/encrypted-secret.ts';
import { newPeering, peerings } from '../record/record.ts';
import { links, streamSecretContext, tombstones } from '../record/secrets.ts';
import { encryptStreamSecrets } from './encrypt-stream-secrets.ts';

const dataKey = dataKeyCipher(Buffer.alloc(32, 1));
const withKey = createSecretStore(dataKey);
const withoutKey = createSecretStore(undefined);
const log = createLog({ level: 'error', format: 'json' });
const peer = { id: 'theirs', serverName: 'server.dc1.peering.x', addresses: ['127.0.0.1:1'], manual: false };

const secretOf = (id: string): string => `the stream secret of ${id}`;

/** Writes dialing and deleted peerings with plain secrets, as a server without a data key does. */
async function leave({ state }: Api, linked: readonly string[], deleted: readonly string[]): Promise<void> {
  await state.write((tx) => {
    const until = new Date(tx.now + 60_000).toISOString();
    for (const id of linked) {
      tx.put(peerings, newPeering({ id, name: id, partition: 'default', role: 'dialing', meta: {}, peer }));
      const secret = withoutKey.encrypt(secretOf(id), streamSecretContext(id));
      tx.put(links, { peeringId: id, secret, roots: ['a root'], trustDomain: 'x' });
    }
    for (const id of deleted) {
      const secret = withoutKey.encrypt(secretOf(id), streamSecretContext(id));
      const link = { secret, roots: ['a root'], trustDomain: 'x', peer };
      tx.put(tombstones, { peeringId: id, role: 'dialing', until, hashes: [], link });
    }
    tx.put(tombstones, { peeringId: randomUUID(), role: 'accepting', until, hashes: ['a hash'] });
  });
}

const stored = ({ state: { snapshot } }: Api): string =>
  JSON.stringify([snapshot.all(links), snapshot.all(tombstones)].flat().map(({ row }) => row));

const ids = (count: number): string[] => Array.from({ length: count }, () => randomUUID());

describe('encryptStreamSecrets', () => {
  test('encrypts plain secrets when a server starts with a data key, and preserves them [SRV-32]', async () => {
    await using store = await sqliteStore();
    const [linked = '', deleted = ''] = ids(2);
    {
      await using api = await startApi({ engine: store.engine() });
      await leave(api, [linked], [deleted]);
    }
    await using api = await startApi({ engine: store.engine(), dataKey });
    const sessions = { heartbeatIntervalMs: 1_000, heartbeatTimeoutMs: 20_000, handshakeTimeoutMs: 1_000 };
    await using _running = await startPeeringService(api, [], { sessions, dataKey });
    assert.doesNotMatch(stored(api), /clear|the stream secret/);
    const { snapshot } = api.state;
    const link = snapshot.get(links, linked)?.row;
    const tombstone = snapshot.get(tombstones, deleted)?.row.link;
    assert.ok(link !== undefined && tombstone !== undefined);
    assert.equal(withKey.decrypt(link.secret, streamSecretContext(linked)), secretOf(linked));
    assert.equal(withKey.decrypt(tombstone.secret, streamSecretContext(deleted)), secretOf(deleted));
    assert.deepEqual([link.roots, tombstone.peer], [['a root'], peer]);
  });

  test('encrypts more secrets than one batch, each once', async () => {
    await using api = await startApi();
    const { state } = api;
    await leave(api, ids(ENCRYPTIONS_IN_PARALLEL_MAX + 1), ids(2));
    await encryptStreamSecrets({ state, secrets: withKey, log });
    const sealed = stored(api);
    assert.doesNotMatch(sealed, /clear/);
    const { index } = state.snapshot;
    await encryptStreamSecrets({ state, secrets: withKey, log });
    assert.deepEqual([stored(api), state.snapshot.index], [sealed, index]);
  });

  test('changes nothing without a data key, and fails to decrypt with another key', async () => {
    await using api = await startApi();
    const { state } = api;
    const [id = ''] = ids(1);
    await leave(api, [id], []);
    const { index } = state.snapshot;
    await encryptStreamSecrets({ state, secrets: withoutKey, log });
    assert.equal(state.snapshot.index, index);
    await encryptStreamSecrets({ state, secrets: withKey, log });
    const secret = state.snapshot.get(links, id)?.row.secret;
    assert.ok(secret !== undefined);
    assert.throws(() => withoutKey.decrypt(secret, streamSecretContext(id)), DataKeyError);
  });
});
