import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { markDeleted, peerings } from '../record/record.ts';
import {
  acknowledgments,
  awaitedBundle,
  awaitsAcknowledgment,
  bundleFingerprint,
  recordAcknowledgment,
  unacknowledgedPeerings,
} from './acknowledgment.ts';
import { rotate } from './api/rotate.ts';
import { rotateBack } from './api/rotate-back.ts';
import { makePeering, openTrust, requestContextFor, type TrustFixture } from './trust.suite.ts';

const awaited = ({ state }: TrustFixture): string[] => unacknowledgedPeerings(state.snapshot).map(({ name }) => name);
const bundle = ({ identity, state }: TrustFixture): string => bundleFingerprint(identity.roots(state.snapshot));
const acknowledge = ({ state }: TrustFixture, id: string, fingerprint: string): Promise<void> =>
  state.write((tx) => recordAcknowledgment(tx, id, fingerprint));

describe('acknowledgments', () => {
  test('are ignored without a rotation', async () => {
    await using fixture = await openTrust();
    const id = await makePeering(fixture.state, 'east');
    assert.equal(awaitedBundle(fixture.state.snapshot), undefined);
    assert.equal(awaitsAcknowledgment(fixture.state.snapshot, id), false);
    await acknowledge(fixture, id, bundle(fixture));
    assert.deepEqual([awaited(fixture), fixture.state.snapshot.all(acknowledgments)], [[], []]);
  });

  test('are awaited from accepting peerings whose token was used, and that are not deleted [PEER-87]', async () => {
    await using fixture = await openTrust();
    const { state } = fixture;
    await makePeering(state, 'connected');
    await makePeering(state, 'token-unused', { connected: false });
    await makePeering(state, 'dialed', { role: 'dialing' });
    const deleted = await makePeering(state, 'deleted');
    await state.write((tx) => {
      const row = tx.get(peerings, deleted)?.row;
      tx.put(
        peerings,
        (row && markDeleted(row, '2030-01-01T00:00:00.000Z')) ?? assert.fail('there is no such peering'),
      );
    });
    await rotate(fixture.trust, requestContextFor(fixture.token));
    assert.deepEqual(awaited(fixture), ['connected']);
  });

  test('count once for their peer and only for the announced bundle', async () => {
    await using fixture = await openTrust();
    const { state } = fixture;
    const east = await makePeering(state, 'east');
    await makePeering(state, 'west');
    const before = bundle(fixture);
    await rotate(fixture.trust, requestContextFor(fixture.token));
    assert.equal(awaitsAcknowledgment(state.snapshot, east), true);
    await acknowledge(fixture, east, before);
    assert.equal(awaitsAcknowledgment(state.snapshot, east), true);
    await acknowledge(fixture, east, bundle(fixture));
    assert.deepEqual([awaited(fixture), awaitsAcknowledgment(state.snapshot, east)], [['west'], false]);
    const { index } = state.snapshot;
    await acknowledge(fixture, east, bundle(fixture));
    assert.equal(state.snapshot.index, index);
  });

  test('are ignored when they belong to an earlier rotation', async () => {
    await using fixture = await openTrust();
    const id = await makePeering(fixture.state, 'east');
    await rotate(fixture.trust, requestContextFor(fixture.token));
    await acknowledge(fixture, id, bundle(fixture));
    await rotateBack(fixture.trust, requestContextFor(fixture.token));
    await rotate(fixture.trust, requestContextFor(fixture.token));
    assert.deepEqual(awaited(fixture), ['east']);
  });

  test('are not recorded for a missing peering, and are deleted with their peering', async () => {
    await using fixture = await openTrust();
    const { state } = fixture;
    const id = await makePeering(state, 'east');
    await rotate(fixture.trust, requestContextFor(fixture.token));
    await acknowledge(fixture, id, bundle(fixture));
    await state.write((tx) => tx.delete(peerings, id));
    await acknowledge(fixture, id, bundle(fixture));
    assert.equal(state.snapshot.get(acknowledgments, id), undefined);
  });
});

test('bundleFingerprint depends on the set of roots and not on their order', () => {
  assert.equal(bundleFingerprint(['a\n', 'b\n']), bundleFingerprint(['b\n', 'a\n']));
  assert.notEqual(bundleFingerprint(['a\n', 'b\n']), bundleFingerprint(['a\n']));
});
