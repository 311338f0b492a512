import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deletedHere, peerings } from '../record/record.ts';
import {
  acknowledgements,
  awaitedBundle,
  bundleFingerprint,
  recordAcknowledgement,
  unacknowledged,
  wantsAcknowledgement,
} from './acknowledgement.ts';
import { rotate } from './api/rotate.ts';
import { rotateBack } from './api/rotate-back.ts';
import { askedWith, makePeering, openTrust, type TrustFixture } from './trust.suite.ts';

const waitedFor = ({ state }: TrustFixture): string[] => unacknowledged(state.snapshot).map(({ name }) => name);
const bundle = ({ identity, state }: TrustFixture): string => bundleFingerprint(identity.roots(state.snapshot));
const acknowledge = ({ state }: TrustFixture, id: string, fingerprint: string): Promise<void> =>
  state.write((tx) => recordAcknowledgement(tx, id, fingerprint));

test('without a rotation nobody is waited for and nothing is written', async () => {
  await using fixture = await openTrust();
  const id = await makePeering(fixture.state, 'east');
  assert.equal(awaitedBundle(fixture.state.snapshot), undefined);
  assert.equal(wantsAcknowledgement(fixture.state.snapshot, id), false);
  await acknowledge(fixture, id, bundle(fixture));
  assert.deepEqual([waitedFor(fixture), fixture.state.snapshot.all(acknowledgements)], [[], []]);
});

test('an announced root waits for peers that dial this cluster and have used their token', async () => {
  await using fixture = await openTrust();
  const { state } = fixture;
  await makePeering(state, 'connected');
  await makePeering(state, 'token-unused', { connected: false });
  await makePeering(state, 'dialed', { role: 'dialing' });
  const deleted = await makePeering(state, 'deleted');
  await state.write((tx) => {
    const row = tx.get(peerings, deleted)?.row;
    tx.put(peerings, (row && deletedHere(row, '2030-01-01T00:00:00.000Z')) ?? assert.fail('there is no such peering'));
  });
  await rotate(fixture.trust, askedWith(fixture.token));
  assert.deepEqual(waitedFor(fixture), ['connected']);
});

test('an acknowledgement counts for its peer, once, and for the announced bundle only', async () => {
  await using fixture = await openTrust();
  const { state } = fixture;
  const east = await makePeering(state, 'east');
  await makePeering(state, 'west');
  const before = bundle(fixture);
  await rotate(fixture.trust, askedWith(fixture.token));
  assert.equal(wantsAcknowledgement(state.snapshot, east), true);
  await acknowledge(fixture, east, before);
  assert.equal(wantsAcknowledgement(state.snapshot, east), true);
  await acknowledge(fixture, east, bundle(fixture));
  assert.deepEqual([waitedFor(fixture), wantsAcknowledgement(state.snapshot, east)], [['west'], false]);
  const { index } = state.snapshot;
  await acknowledge(fixture, east, bundle(fixture));
  assert.equal(state.snapshot.index, index);
});

test('an acknowledgement of an earlier rotation counts for nothing', async () => {
  await using fixture = await openTrust();
  const id = await makePeering(fixture.state, 'east');
  await rotate(fixture.trust, askedWith(fixture.token));
  await acknowledge(fixture, id, bundle(fixture));
  await rotateBack(fixture.trust, askedWith(fixture.token));
  await rotate(fixture.trust, askedWith(fixture.token));
  assert.deepEqual(waitedFor(fixture), ['east']);
});

test('an acknowledgement of a peering that is gone is left out, and one goes with its peering', async () => {
  await using fixture = await openTrust();
  const { state } = fixture;
  const id = await makePeering(state, 'east');
  await rotate(fixture.trust, askedWith(fixture.token));
  await acknowledge(fixture, id, bundle(fixture));
  await state.write((tx) => tx.delete(peerings, id));
  await acknowledge(fixture, id, bundle(fixture));
  assert.equal(state.snapshot.get(acknowledgements, id), undefined);
});

test('the order of roots makes no difference to a bundle, each root does', () => {
  assert.equal(bundleFingerprint(['a\n', 'b\n']), bundleFingerprint(['b\n', 'a\n']));
  assert.notEqual(bundleFingerprint(['a\n', 'b\n']), bundleFingerprint(['a\n']));
});
