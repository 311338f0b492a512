import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { startPeeringOf } from '../../test/support/peering/running-peering.ts';
import { type Api, startApi } from '../../test/support/process/api.ts';
import { sqliteStore } from '../../test/support/state/store.ts';
import { createLog } from '../http/telemetry/log.ts';
import { dataKeySealer } from '../state/transfer/encryption.ts';
import { sealStreamSecrets } from './encrypt-stream-secrets.ts';
import { SEALED_AT_ONCE_MAX } from './limits.ts';
import { createSecretStore, DataKeyError } from './record/encrypted-secret.ts';
import { newPeering, peerings } from './record/record.ts';
import { links, streamSecretPlace, tombstones } from './record/secrets.ts';

const dataKey = dataKeySealer(Buffer.alloc(32, 1));
const withKey = createSecretStore(dataKey);
const withoutKey = createSecretStore(undefined);
const log = createLog({ level: 'error', format: 'json' });
const peer = { id: 'theirs', serverName: 'server.dc1.peering.x', addresses: ['127.0.0.1:1'], manual: false };

const secretOf = (id: string): string => `the stream secret of ${id}`;

/** Peerings that dial, and deleted ones, as a server without a data key leaves them. */
async function leave({ state }: Api, linked: readonly string[], deleted: readonly string[]): Promise<void> {
  await state.write((tx) => {
    const until = new Date(tx.now + 60_000).toISOString();
    for (const id of linked) {
      tx.put(peerings, newPeering({ id, name: id, partition: 'default', role: 'dialing', meta: {}, peer }));
      const secret = withoutKey.seal(secretOf(id), streamSecretPlace(id));
      tx.put(links, { peeringId: id, secret, roots: ['a root'], trustDomain: 'x' });
    }
    for (const id of deleted) {
      const secret = withoutKey.seal(secretOf(id), streamSecretPlace(id));
      const link = { secret, roots: ['a root'], trustDomain: 'x', peer };
      tx.put(tombstones, { peeringId: id, role: 'dialing', until, hashes: [], link });
    }
    tx.put(tombstones, { peeringId: randomUUID(), role: 'accepting', until, hashes: ['a hash'] });
  });
}

const stored = ({ state: { snapshot } }: Api): string =>
  JSON.stringify([snapshot.all(links), snapshot.all(tombstones)].flat().map(({ row }) => row));

const ids = (count: number): string[] => Array.from({ length: count }, () => randomUUID());

describe('stream secrets that lie in clear', () => {
  test('are sealed when a server starts with a data key, and stay the same', async () => {
    await using store = await sqliteStore();
    const [linked = '', deleted = ''] = ids(2);
    {
      await using api = await startApi({ engine: store.engine() });
      await leave(api, [linked], [deleted]);
    }
    await using api = await startApi({ engine: store.engine(), dataKey });
    const sessions = { heartbeatIntervalMs: 1_000, heartbeatTimeoutMs: 20_000, handshakeTimeoutMs: 1_000 };
    await using _running = await startPeeringOf(api, [], { sessions, dataKey });
    assert.doesNotMatch(stored(api), /clear|the stream secret/);
    const { snapshot } = api.state;
    const link = snapshot.get(links, linked)?.row;
    const tombstone = snapshot.get(tombstones, deleted)?.row.link;
    assert.ok(link !== undefined && tombstone !== undefined);
    assert.equal(withKey.open(link.secret, streamSecretPlace(linked)), secretOf(linked));
    assert.equal(withKey.open(tombstone.secret, streamSecretPlace(deleted)), secretOf(deleted));
    assert.deepEqual([link.roots, tombstone.peer], [['a root'], peer]);
  });

  test('are all sealed, however many there are, and only once', async () => {
    await using api = await startApi();
    const { state } = api;
    await leave(api, ids(SEALED_AT_ONCE_MAX + 1), ids(2));
    await sealStreamSecrets({ state, secrets: withKey, log });
    const sealed = stored(api);
    assert.doesNotMatch(sealed, /clear/);
    const { index } = state.snapshot;
    await sealStreamSecrets({ state, secrets: withKey, log });
    assert.deepEqual([stored(api), state.snapshot.index], [sealed, index]);
  });

  test('stay as they are without a data key, and sealed ones are opened by theirs alone', async () => {
    await using api = await startApi();
    const { state } = api;
    const [id = ''] = ids(1);
    await leave(api, [id], []);
    const { index } = state.snapshot;
    await sealStreamSecrets({ state, secrets: withoutKey, log });
    assert.equal(state.snapshot.index, index);
    await sealStreamSecrets({ state, secrets: withKey, log });
    const secret = state.snapshot.get(links, id)?.row.secret;
    assert.ok(secret !== undefined);
    assert.throws(() => withoutKey.open(secret, streamSecretPlace(id)), DataKeyError);
  });
});
