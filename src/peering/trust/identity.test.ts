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
import { authorityRow } from './authority.ts';
import { SERVER_LIFE_MS } from './limits.ts';
import { dial, openTrust, requestContextFor } from './trust.suite.ts';

test('openServerIdentity derives the names of the cluster [PEER-82]', async () => {
  await using fixture = await openTrust();
  const { serverName, trustDomain, datacenter } = fixture.identity;
  assert.equal(trustDomain, `${fixture.state.snapshot.cluster}.accord`);
  assert.deepEqual([serverName, datacenter], [`server.dc1.peering.${trustDomain}`, 'dc1']);
});

test('the served certificate passes verification with the roots and the server name only', async () => {
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

test('onChange reports a certificate that another server renewed, and this server serves it', {
  skip: skipWithout('etcd'),
}, async () => {
  await using etcd = await startEtcd();
  await using store = await etcdStore(etcd);
  const clock = createFakeClock(Date.now() - SERVER_LIFE_MS);
  await using one = await openTrust({ engine: store.engine(), node: 'a', clock });
  await using two = await openTrust({ engine: store.engine(), node: 'b', clock });
  let changes = 0;
  const removeListener = two.identity.onChange(() => {
    changes += 1;
  });
  const before = two.identity.current();
  clock.advance(SERVER_LIFE_MS);
  one.startJob();
  two.startJob();
  await until('the other server serves the new certificate', () => two.identity.current() !== before);
  await until(
    'both servers serve the same certificate',
    () => one.identity.current().cert === two.identity.current().cert,
  );
  assert.equal(changes, 1);
  removeListener();
  await rotate(one.trust, requestContextFor(one.token));
  await until('the other server has the announced root', () => two.identity.roots(two.state.snapshot).length === 2);
  assert.equal(changes, 1);
});

test('onChange reports a changed bundle while the served certificate is the same', async () => {
  await using fixture = await openTrust();
  let changes = 0;
  fixture.identity.onChange(() => {
    changes += 1;
  });
  const served = fixture.identity.current();
  await rotate(fixture.trust, requestContextFor(fixture.token));
  await until('the announced root is reported', () => changes === 1);
  await rotateBack(fixture.trust, requestContextFor(fixture.token));
  await until('its removal is reported', () => changes === 2);
  assert.equal(fixture.identity.current(), served);
});

test('current returns the certificate of the row', async () => {
  await using fixture = await openTrust();
  const { current } = authorityRow(fixture.state.snapshot);
  assert.equal(new X509Certificate(fixture.identity.current().cert).fingerprint256, current.server.fingerprint);
});
