import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sqliteStore } from '../../../test/support/state/store.ts';
import { until } from '../../../test/support/until.ts';
import { auditLog } from '../../audit/record.ts';
import { bundleFingerprint, recordAcknowledgement } from './acknowledgement.ts';
import { rotate } from './api/rotate.ts';
import { authorityOf } from './authority.ts';
import {
  ANNOUNCED_MS,
  CHECK_ANNOUNCED_MS,
  CHECK_MS,
  ROOT_LEFT_MS,
  ROOT_LIFE_MS,
  SERVER_LIFE_MS,
  SWITCHED_MS,
} from './limits.ts';
import { askedWith, dial, makePeering, openTrust, type TrustFixture } from './trust.suite.ts';

const stage = ({ state }: TrustFixture): string => authorityOf(state.snapshot).rotation?.stage ?? 'stable';
const reaches = (fixture: TrustFixture, wanted: string): Promise<void> =>
  until(`the stage is ${wanted}`, () => stage(fixture) === wanted);
const actions = async ({ state }: TrustFixture): Promise<string[]> => {
  const entries = await state.scan(auditLog, { limit: 100 }, AbortSignal.timeout(10_000));
  return entries.map(({ row }) => `${row.actor === 'system' ? 'system' : 'somebody'} ${row.action}`);
};
const acknowledge = ({ state, identity }: TrustFixture, id: string): Promise<void> =>
  state.write((tx) => recordAcknowledgement(tx, id, bundleFingerprint(identity.roots(tx))));

test('a server certificate is renewed after two thirds of its life, by itself, under the same root', async () => {
  // It ends at the machine's time, by which TLS goes.
  const clock = createFakeClock(Date.now() - SERVER_LIFE_MS);
  await using fixture = await openTrust({ clock });
  const { identity, state } = fixture;
  const [first, roots] = [identity.current(), identity.roots(state.snapshot)];
  fixture.startJob();
  clock.advance(SERVER_LIFE_MS / 2);
  await clock.run(CHECK_MS);
  assert.equal(identity.current(), first);
  clock.advance(SERVER_LIFE_MS / 2 - CHECK_MS);
  await clock.run(0);
  await until('it serves another one', () => identity.current() !== first);
  assert.deepEqual(identity.roots(state.snapshot), roots);
  assert.equal(await dial(first, roots, identity.serverName), 'CERT_HAS_EXPIRED');
  assert.equal(await dial(identity.current(), roots, identity.serverName), 'h2');
  assert.deepEqual((await actions(fixture)).slice(0, 2), ['system create', 'system renew']);
});

test('a root in its last year is rotated by itself', async () => {
  const clock = createFakeClock();
  await using fixture = await openTrust({ clock });
  await makePeering(fixture.state, 'east');
  clock.advance(ROOT_LIFE_MS - ROOT_LEFT_MS);
  fixture.startJob();
  await reaches(fixture, 'announced');
  assert.ok((await actions(fixture)).includes('system rotate'));
});

describe('a rotation', () => {
  test('serves the new root once all have acknowledged, retires the old one later, and cuts nobody off', async () => {
    await using fixture = await openTrust();
    const { clock, identity, state } = fixture;
    const ids = [await makePeering(state, 'east'), await makePeering(state, 'west')];
    const [oldRoot, oldServed] = [identity.roots(state.snapshot), identity.current()];
    fixture.startJob();
    await rotate(fixture.trust, askedWith(fixture.token));
    const bundle = identity.roots(state.snapshot);
    assert.equal(bundle.length, 2);

    await acknowledge(fixture, ids[0] ?? '');
    await clock.run(CHECK_ANNOUNCED_MS);
    assert.equal(stage(fixture), 'announced');
    assert.equal(await dial(identity.current(), oldRoot, identity.serverName), 'h2');

    await acknowledge(fixture, ids[1] ?? '');
    await reaches(fixture, 'switched');
    await until('the new certificate is served', () => identity.current() !== oldServed);
    // Who has acknowledged trusts the bundle: whatever is served is fine. A newcomer's token names both, too.
    for (const served of [oldServed, identity.current()]) {
      assert.equal(await dial(served, bundle, identity.serverName), 'h2');
    }
    assert.deepEqual(identity.roots(state.snapshot).toSorted(), bundle.toSorted());

    clock.advance(SWITCHED_MS - 2 * CHECK_MS);
    await clock.run(CHECK_MS);
    assert.equal(stage(fixture), 'switched');
    await clock.run(2 * CHECK_MS);
    await reaches(fixture, 'stable');
    const newRoot = identity.roots(state.snapshot);
    assert.deepEqual(
      newRoot,
      bundle.filter((root) => !oldRoot.includes(root)),
    );
    assert.equal(await dial(identity.current(), newRoot, identity.serverName), 'h2');
    assert.notEqual(await dial(identity.current(), oldRoot, identity.serverName), 'h2');
    assert.deepEqual(await actions(fixture), ['system create', 'somebody rotate', 'system switch', 'system retire']);
  });

  test('goes on without those who have not acknowledged for seven days', async () => {
    await using fixture = await openTrust();
    await makePeering(fixture.state, 'away');
    fixture.startJob();
    await rotate(fixture.trust, askedWith(fixture.token));
    fixture.clock.advance(ANNOUNCED_MS - 2 * CHECK_ANNOUNCED_MS);
    await fixture.clock.run(CHECK_ANNOUNCED_MS);
    assert.equal(stage(fixture), 'announced');
    await fixture.clock.run(2 * CHECK_ANNOUNCED_MS);
    await reaches(fixture, 'switched');
  });

  test('goes on after a crash where it was, from the row alone', async () => {
    await using store = await sqliteStore();
    const clock = createFakeClock();
    let bundle: readonly string[];
    {
      await using fixture = await openTrust({ engine: store.engine(), clock });
      await rotate(fixture.trust, askedWith(fixture.token));
      bundle = fixture.identity.roots(fixture.state.snapshot);
      // It dies before the job has done anything.
    }
    {
      await using fixture = await openTrust({ engine: store.engine(), clock });
      assert.deepEqual(fixture.identity.roots(fixture.state.snapshot), bundle);
      fixture.startJob();
      await reaches(fixture, 'switched');
    }
    await using fixture = await openTrust({ engine: store.engine(), clock });
    assert.deepEqual(fixture.identity.roots(fixture.state.snapshot), bundle.toReversed());
    clock.advance(SWITCHED_MS);
    fixture.startJob();
    await reaches(fixture, 'stable');
    assert.deepEqual(fixture.identity.roots(fixture.state.snapshot), bundle.slice(1));
  });

  test('of two servers whose jobs run at once each step is taken once', async () => {
    await using fixture = await openTrust();
    fixture.startJob();
    fixture.startJob();
    await rotate(fixture.trust, askedWith(fixture.token));
    await reaches(fixture, 'switched');
    fixture.clock.advance(SWITCHED_MS);
    // Either job may still be at its last step, and set its timer only when it is through.
    await until('the stage is stable', async () => {
      await fixture.clock.run(CHECK_MS);
      return stage(fixture) === 'stable';
    });
    assert.deepEqual(await actions(fixture), ['system create', 'somebody rotate', 'system switch', 'system retire']);
  });
});
