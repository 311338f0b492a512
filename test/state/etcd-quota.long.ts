/** One key that is rewritten until its history would have filled the quota of a real etcd three times. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startEtcd } from '../support/process/etcd.ts';
import { testEngine } from '../support/state/etcd-node.ts';
import { openState } from '../support/state/state.ts';
import { events } from '../support/state/tables.ts';
import { skipWithout } from '../support/tools.ts';

const MIB = 2 ** 20;
const QUOTA_MIB = 64;
/** Slow enough that 15 s of history fit into the quota. */
const MIB_PER_SECOND = 2;

describe('the quota of etcd', { skip: skipWithout('etcd'), timeout: 300_000 }, () => {
  it('is not filled by the history of one key [ETCD-88] [STATE-119]', async () => {
    await using etcd = await startEtcd({ flags: [`--quota-backend-bytes=${QUOTA_MIB * MIB}`] });
    const settings = { endpoints: etcd.urls, quotaBytes: QUOTA_MIB * MIB, compactMs: 600_000 };
    await using state = await openState(testEngine(settings));
    const caller = { rateKey: 'token/t', isOperator: false };
    for (let second = 0; second < (3 * QUOTA_MIB) / MIB_PER_SECOND; second++) {
      for (let i = 0; i < MIB_PER_SECOND * 2; i++) {
        await state.write((tx) => tx.append(events, { id: 'same', text: 'x'.repeat(MIB / 2) }), { caller });
      }
      await delay(1_000);
    }
    assert.equal(state.admission.refused.get('store'), 0);
  });
});
