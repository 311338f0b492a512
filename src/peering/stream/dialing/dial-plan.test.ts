import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { sharedApi } from '../../../../test/support/process/api.ts';
import { dataKeyCipher } from '../../../state/transfer/encryption.ts';
import { createSecretStore, DataKeyError } from '../../record/encrypted-secret.ts';
import { newPeering, peerings } from '../../record/record.ts';
import { links, streamSecretContext, tombstones } from '../../record/secrets.ts';
import { type DialPlan, dialPlan, dialTopics, isSameStream } from './dial-plan.ts';

const PEER = { id: 'theirs', serverName: 'server.dc1.peering.x', addresses: ['127.0.0.1:1'], manual: false };
const secrets = createSecretStore(undefined);

describe('dialPlan', () => {
  const api = sharedApi();

  /** Creates a record of the dialing side. */
  async function put(name: string, secret = secrets.encrypt('secret', 'p')): Promise<string> {
    const id = randomUUID();
    await api().state.write((tx) => {
      tx.put(peerings, newPeering({ id, name, partition: 'default', role: 'dialing', meta: {}, peer: PEER }));
      tx.put(links, { peeringId: id, secret, roots: ['root'], trustDomain: 'x' });
    });
    return id;
  }
  const planOf = (id: string): DialPlan | undefined => dialPlan(api().state.snapshot, secrets, id);

  it('returns the values of the record and its link', async () => {
    const id = await put('plan');
    assert.deepEqual(planOf(id), {
      name: 'plan',
      peerId: 'theirs',
      serverName: PEER.serverName,
      addresses: PEER.addresses,
      manual: false,
      roots: ['root'],
      streamSecret: 'secret',
      partition: 'default',
      deleted: false,
    });
  });

  it('returns undefined without a record, without a link, and for a TERMINATED peering', async () => {
    assert.equal(planOf(randomUUID()), undefined);
    const [ended, unlinked] = [await put('ended'), await put('unlinked')];
    await api().state.write((tx) => {
      const row = tx.get(peerings, ended)?.row;
      if (row !== undefined) tx.put(peerings, { ...row, state: 'TERMINATED' });
      tx.delete(links, unlinked);
    });
    assert.equal(planOf(ended), undefined);
    assert.equal(planOf(unlinked), undefined);
  });

  it('returns the values of the tombstone when the peering was deleted [PEER-73]', async () => {
    const id = randomUUID();
    const link = { secret: secrets.encrypt('old', 'p'), roots: ['root'], trustDomain: 'x', peer: PEER };
    await api().state.write((tx) => {
      tx.put(tombstones, { peeringId: id, role: 'dialing', until: '2100-01-01T00:00:00Z', hashes: [], link });
    });
    const plan = planOf(id);
    // Tombstones of earlier versions have no name.
    assert.deepEqual([plan?.deleted, plan?.streamSecret, plan?.name, plan?.partition], [true, 'old', id, '']);
    await api().state.write((tx) => {
      const row = tx.get(tombstones, id)?.row;
      if (row !== undefined) tx.put(tombstones, { ...row, link: { ...link, name: 'West', partition: 'eu' } });
    });
    assert.deepEqual([planOf(id)?.name, planOf(id)?.partition], ['West', 'eu']);
  });

  it('throws DataKeyError without the data key of the secret', async () => {
    const encrypted = createSecretStore(dataKeyCipher(randomBytes(32)));
    const id = await put('encrypted');
    await api().state.write((tx) => {
      const row = tx.get(links, id)?.row;
      if (row !== undefined) tx.put(links, { ...row, secret: encrypted.encrypt('s', streamSecretContext(id)) });
    });
    assert.throws(() => planOf(id), DataKeyError);
    assert.equal(dialPlan(api().state.snapshot, encrypted, id)?.streamSecret, 's');
  });

  it('requires a new stream after a change of peer ID, server name, secret or deletion only [PEER-77] [STREAM-95]', async () => {
    const plan = planOf(await put('same'));
    assert.ok(plan !== undefined);
    const same: readonly Partial<DialPlan>[] = [{}, { roots: [] }, { addresses: [] }, { name: 'x' }];
    for (const change of same)
      assert.equal(isSameStream(plan, { ...plan, ...change }), true, Object.keys(change).join());
    const other: readonly Partial<DialPlan>[] = [
      { peerId: 'x' },
      { serverName: 'x' },
      { streamSecret: 'x' },
      { deleted: true },
    ];
    for (const change of other)
      assert.equal(isSameStream(plan, { ...plan, ...change }), false, Object.keys(change).join());
    assert.equal(isSameStream(plan, undefined), false);
  });

  it('is followed by dialTopics', async () => {
    const id = await put('followed');
    let changes = 0;
    const stopFollowing = api().state.follow(dialTopics(id), () => {
      changes += 1;
    });
    await api().state.write((tx) => void tx.delete(links, id));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(changes, 1);
    stopFollowing();
  });
});
