import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sqliteStore } from '../../../test/support/state/store.ts';
import { until } from '../../../test/support/until.ts';
import { auditLog } from '../../audit/record.ts';
import { bundleFingerprint, recordAcknowledgment } from './acknowledgment.ts';
import { rotate } from './api/rotate.ts';
import { authorityRow } from './authority.ts';
import {
  ANNOUNCED_CHECK_INTERVAL_MS,
  ANNOUNCED_MS,
  CHECK_INTERVAL_MS,
  ROOT_LIFE_MS,
  ROTATE_BEFORE_EXPIRY_MS,
  SERVER_LIFE_MS,
  SWITCHED_MS,
} from './limits.ts';
import { dial, makePeering, openTrust, requestContextFor, type TrustFixture } from './trust.suite.ts';

const stage = ({ state }: TrustFixture): string => authorityRow(state.snapshot).rotation?.stage ?? 'stable';
const untilStage = (fixture: TrustFixture, wanted: string): Promise<void> =>
  until(`the stage is ${wanted}`, () => stage(fixture) === wanted);
const actions = async ({ state }: TrustFixture): Promise<string[]> => {
  const entries = await state.scan(auditLog, { limit: 100 }, AbortSignal.timeout(10_000));
  return entries.map(({ row }) => `${row.actor === 'system' ? 'system' : 'caller'} ${row.action}`);
};
const acknowledge = ({ state, identity }: TrustFixture, id: string): Promise<void> =>
  state.write((tx) => recordAcknowledgment(tx, id, bundleFingerprint(identity.roots(tx))));

describe('certificate job', () => {
  test('renews the server certificate after two thirds of its lifetime, under the same root [PEER-85]', async () => {
    // The certificate expires at the current time, because TLS uses the machine's clock.
    const clock = createFakeClock(Date.now() - SERVER_LIFE_MS);
    await using fixture = await openTrust({ clock });
    const { identity, state } = fixture;
    const [first, roots] = [identity.current(), identity.roots(state.snapshot)];
    fixture.startJob();
    clock.advance(SERVER_LIFE_MS / 2);
    await clock.run(CHECK_INTERVAL_MS);
    assert.equal(identity.current(), first);
    clock.advance(SERVER_LIFE_MS / 2 - CHECK_INTERVAL_MS);
    await clock.run(0);
    await until('the server serves another certificate', () => identity.current() !== first);
    assert.deepEqual(identity.roots(state.snapshot), roots);
    assert.equal(await dial(first, roots, identity.serverName), 'CERT_HAS_EXPIRED');
    assert.equal(await dial(identity.current(), roots, identity.serverName), 'h2');
    assert.deepEqual((await actions(fixture)).slice(0, 2), ['system create', 'system renew']);
  });

  test('rotates a root in its last year [PEER-85]', async () => {
    const clock = createFakeClock();
    await using fixture = await openTrust({ clock });
    await makePeering(fixture.state, 'east');
    clock.advance(ROOT_LIFE_MS - ROTATE_BEFORE_EXPIRY_MS);
    fixture.startJob();
    await untilStage(fixture, 'announced');
    assert.ok((await actions(fixture)).includes('system rotate'));
  });
});

describe('a rotation', () => {
  test('switches after all acknowledgments and later retires the old root, and every handshake succeeds [PEER-86]', async () => {
    await using fixture = await openTrust();
    const { clock, identity, state } = fixture;
    const ids = [await makePeering(state, 'east'), await makePeering(state, 'west')];
    const [oldRoot, oldServed] = [identity.roots(state.snapshot), identity.current()];
    fixture.startJob();
    await rotate(fixture.trust, requestContextFor(fixture.token));
    const bundle = identity.roots(state.snapshot);
    assert.equal(bundle.length, 2);

    await acknowledge(fixture, ids[0] ?? '');
    await clock.run(ANNOUNCED_CHECK_INTERVAL_MS);
    assert.equal(stage(fixture), 'announced');
    assert.equal(await dial(identity.current(), oldRoot, identity.serverName), 'h2');

    await acknowledge(fixture, ids[1] ?? '');
    await untilStage(fixture, 'switched');
    await until('the new certificate is served', () => identity.current() !== oldServed);
    // A peer that acknowledged trusts both roots, so either certificate is accepted. New tokens also contain both.
    for (const served of [oldServed, identity.current()]) {
      assert.equal(await dial(served, bundle, identity.serverName), 'h2');
    }
    assert.deepEqual(identity.roots(state.snapshot).toSorted(), bundle.toSorted());

    clock.advance(SWITCHED_MS - 2 * CHECK_INTERVAL_MS);
    await clock.run(CHECK_INTERVAL_MS);
    assert.equal(stage(fixture), 'switched');
    await clock.run(2 * CHECK_INTERVAL_MS);
    await untilStage(fixture, 'stable');
    const newRoot = identity.roots(state.snapshot);
    assert.deepEqual(
      newRoot,
      bundle.filter((root) => !oldRoot.includes(root)),
    );
    assert.equal(await dial(identity.current(), newRoot, identity.serverName), 'h2');
    assert.notEqual(await dial(identity.current(), oldRoot, identity.serverName), 'h2');
    assert.deepEqual(await actions(fixture), ['system create', 'caller rotate', 'system switch', 'system retire']);
  });

  test('switches after seven days without an acknowledgment [PEER-86]', async () => {
    await using fixture = await openTrust();
    await makePeering(fixture.state, 'disconnected');
    fixture.startJob();
    await rotate(fixture.trust, requestContextFor(fixture.token));
    fixture.clock.advance(ANNOUNCED_MS - 2 * ANNOUNCED_CHECK_INTERVAL_MS);
    await fixture.clock.run(ANNOUNCED_CHECK_INTERVAL_MS);
    assert.equal(stage(fixture), 'announced');
    await fixture.clock.run(2 * ANNOUNCED_CHECK_INTERVAL_MS);
    await untilStage(fixture, 'switched');
  });

  test('resumes after a crash from the stored row', async () => {
    await using store = await sqliteStore();
    const clock = createFakeClock();
    let bundle: readonly string[];
    {
      await using fixture = await openTrust({ engine: store.engine(), clock });
      await rotate(fixture.trust, requestContextFor(fixture.token));
      bundle = fixture.identity.roots(fixture.state.snapshot);
      // The server stops before the job has run.
    }
    {
      await using fixture = await openTrust({ engine: store.engine(), clock });
      assert.deepEqual(fixture.identity.roots(fixture.state.snapshot), bundle);
      fixture.startJob();
      await untilStage(fixture, 'switched');
    }
    await using fixture = await openTrust({ engine: store.engine(), clock });
    assert.deepEqual(fixture.identity.roots(fixture.state.snapshot), bundle.toReversed());
    clock.advance(SWITCHED_MS);
    fixture.startJob();
    await untilStage(fixture, 'stable');
    assert.deepEqual(fixture.identity.roots(fixture.state.snapshot), bundle.slice(1));
  });

  test('takes each step once when two jobs run in parallel', async () => {
    await using fixture = await openTrust();
    fixture.startJob();
    fixture.startJob();
    await rotate(fixture.trust, requestContextFor(fixture.token));
    await untilStage(fixture, 'switched');
    fixture.clock.advance(SWITCHED_MS);
    // Either job may still be in its previous step and set its timer only afterwards.
    await until('the stage is stable', async () => {
      await fixture.clock.run(CHECK_INTERVAL_MS);
      return stage(fixture) === 'stable';
    });
    assert.deepEqual(await actions(fixture), ['system create', 'caller rotate', 'system switch', 'system retire']);
  });
});
