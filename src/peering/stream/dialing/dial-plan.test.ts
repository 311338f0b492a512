import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { sharedApi } from '../../../../test/support/process/api.ts';
import { dataKeySealer } from '../../../state/transfer/encryption.ts';
import { createSecretStore, DataKeyError } from '../../record/encrypted-secret.ts';
import { newPeering, peerings } from '../../record/record.ts';
import { links, streamSecretPlace, tombstones } from '../../record/secrets.ts';
import { type DialPlan, dialPlan, dialTopics, sameStream } from './dial-plan.ts';

const PEER = { id: 'theirs', serverName: 'server.dc1.peering.x', addresses: ['127.0.0.1:1'], manual: false };
const secrets = createSecretStore(undefined);

describe('what a peering dials', () => {
  const api = sharedApi();

  /** A record of the dialing side. */
  async function put(name: string, secret = secrets.seal('secret', 'p')): Promise<string> {
    const id = randomUUID();
    await api().state.write((tx) => {
      tx.put(peerings, newPeering({ id, name, partition: 'default', role: 'dialing', meta: {}, peer: PEER }));
      tx.put(links, { peeringId: id, secret, roots: ['root'], trustDomain: 'x' });
    });
    return id;
  }
  const planOf = (id: string): DialPlan | undefined => dialPlan(api().state.snapshot, secrets, id);

  it('is what its record and its link say', async () => {
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

  it('is nothing without a record, without a link, and when the other side has ended it', async () => {
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

  it('is the other side that has still to be told, when it was deleted here', async () => {
    const id = randomUUID();
    const link = { secret: secrets.seal('old', 'p'), roots: ['root'], trustDomain: 'x', peer: PEER };
    await api().state.write((tx) => {
      tx.put(tombstones, { peeringId: id, role: 'dialing', until: '2100-01-01T00:00:00Z', hashes: [], link });
    });
    const plan = planOf(id);
    // As tombstones were before they kept the name.
    assert.deepEqual([plan?.deleted, plan?.streamSecret, plan?.name, plan?.partition], [true, 'old', id, '']);
    await api().state.write((tx) => {
      const row = tx.get(tombstones, id)?.row;
      if (row !== undefined) tx.put(tombstones, { ...row, link: { ...link, name: 'West', partition: 'eu' } });
    });
    assert.deepEqual([planOf(id)?.name, planOf(id)?.partition], ['West', 'eu']);
  });

  it('cannot be read with another data key than its own', async () => {
    const sealed = createSecretStore(dataKeySealer(randomBytes(32)));
    const id = await put('sealed');
    await api().state.write((tx) => {
      const row = tx.get(links, id)?.row;
      if (row !== undefined) tx.put(links, { ...row, secret: sealed.seal('s', streamSecretPlace(id)) });
    });
    assert.throws(() => planOf(id), DataKeyError);
    assert.equal(dialPlan(api().state.snapshot, sealed, id)?.streamSecret, 's');
  });

  it('is another stream when the peer, its name, the secret or the deletion changes, and not when roots or addresses do', async () => {
    const plan = planOf(await put('same'));
    assert.ok(plan !== undefined);
    const same: readonly Partial<DialPlan>[] = [{}, { roots: [] }, { addresses: [] }, { name: 'x' }];
    for (const change of same) assert.equal(sameStream(plan, { ...plan, ...change }), true, Object.keys(change).join());
    const other: readonly Partial<DialPlan>[] = [
      { peerId: 'x' },
      { serverName: 'x' },
      { streamSecret: 'x' },
      { deleted: true },
    ];
    for (const change of other)
      assert.equal(sameStream(plan, { ...plan, ...change }), false, Object.keys(change).join());
    assert.equal(sameStream(plan, undefined), false);
  });

  it('is looked at again when any of its rows changes', async () => {
    const id = await put('followed');
    let told = 0;
    const forget = api().state.follow(dialTopics(id), () => {
      told += 1;
    });
    await api().state.write((tx) => void tx.delete(links, id));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(told, 1);
    forget();
  });
});
