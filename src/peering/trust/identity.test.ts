import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { startEtcd } from '../../../test/support/process/etcd.ts';
import { etcdStore } from '../../../test/support/state/store.ts';
import { skipWithout } from '../../../test/support/tools.ts';
import { until } from '../../../test/support/until.ts';
import { rotate } from './api/rotate.ts';
import { rotateBack } from './api/rotate-back.ts';
import { authorityOf } from './authority.ts';
import { SERVER_LIFE_MS } from './limits.ts';
import { askedWith, dial, openTrust } from './trust.suite.ts';

test('an identity has the names that peers know it by', async () => {
  await using fixture = await openTrust();
  const { serverName, trustDomain, datacenter } = fixture.identity;
  assert.equal(trustDomain, `${fixture.state.snapshot.cluster}.accord`);
  assert.deepEqual([serverName, datacenter], [`server.dc1.peering.${trustDomain}`, 'dc1']);
});

test('a dialer that trusts the roots alone finds the server name in the served certificate', async () => {
  await using fixture = await openTrust();
  const { identity, state } = fixture;
  const roots = identity.roots(state.snapshot);
  assert.equal(await dial(identity.current(), roots, identity.serverName), 'h2');
  assert.equal(
    await dial(identity.current(), roots, `server.dc2.peering.${identity.trustDomain}`),
    'ERR_TLS_CERT_ALTNAME_INVALID',
  );
  await using other = await openTrust();
  const otherRoots = other.identity.roots(other.state.snapshot);
  assert.equal(await dial(identity.current(), otherRoots, identity.serverName), 'UNABLE_TO_VERIFY_LEAF_SIGNATURE');
});

test('a change by another server is served here too, and told', { skip: skipWithout('etcd') }, async () => {
  await using etcd = await startEtcd();
  await using store = await etcdStore(etcd);
  const clock = createFakeClock(Date.now() - SERVER_LIFE_MS);
  await using one = await openTrust({ engine: store.engine(), node: 'a', clock });
  await using two = await openTrust({ engine: store.engine(), node: 'b', clock });
  let told = 0;
  const forget = two.identity.onChange(() => {
    told += 1;
  });
  const before = two.identity.current();
  clock.advance(SERVER_LIFE_MS);
  one.startJob();
  two.startJob();
  await until('the other server serves the new certificate', () => two.identity.current() !== before);
  await until('both serve the same', () => one.identity.current().cert === two.identity.current().cert);
  assert.equal(told, 1);
  forget();
  await rotate(one.trust, askedWith(one.token));
  await until('both know of the announced root', () => two.identity.roots(two.state.snapshot).length === 2);
  assert.equal(told, 1);
});

test('a bundle that changes is told, though the same certificate is served', async () => {
  await using fixture = await openTrust();
  let told = 0;
  fixture.identity.onChange(() => {
    told += 1;
  });
  const served = fixture.identity.current();
  await rotate(fixture.trust, askedWith(fixture.token));
  await until('the announced root is told', () => told === 1);
  await rotateBack(fixture.trust, askedWith(fixture.token));
  await until('so is that it is gone', () => told === 2);
  assert.equal(fixture.identity.current(), served);
});

test('the served certificate is the one that the row names', async () => {
  await using fixture = await openTrust();
  const { current } = authorityOf(fixture.state.snapshot);
  assert.equal(new X509Certificate(fixture.identity.current().cert).fingerprint256, current.server.fingerprint);
});
