import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Check } from 'typebox/value';
import { until } from '../../../../test/support/until.ts';
import { auditLog } from '../../../audit/record.ts';
import type { Grant } from '../../../credentials/grant.ts';
import { createReads } from '../../../http/blocking/reads.ts';
import { type Got, openEdge } from '../../../http/server/edge.suite.ts';
import { systemClock } from '../../../state/clock/clock.ts';
import { bundleFingerprint, recordAcknowledgement } from '../acknowledgement.ts';
import { SWITCHED_MS, UNACKNOWLEDGED_SHOWN_MAX } from '../limits.ts';
import { makePeering, makeToken, openTrust, type TrustFixture } from '../trust.suite.ts';
import { authoritySchema, type ShownAuthority } from './authority-to-json.ts';
import { trustEndpoints } from './endpoints.ts';

interface Served extends TrustFixture {
  /** With the first token unless another is given. */
  ask(method: string, path: string, token?: string): Promise<Got>;
  /** A request that is answered with the document. */
  document(method: string, path: string): Promise<ShownAuthority>;
}

async function serve(): Promise<Served> {
  await using parts = new AsyncDisposableStack();
  const fixture = parts.use(await openTrust());
  const reads = createReads({
    state: fixture.state,
    clock: systemClock,
    random: () => 0,
    defaultPolicy: 'deny',
    staleMaxAgeMs: 600_000,
    waitingMax: 100,
    waitingPerTokenMax: 100,
  });
  const edge = parts.use(await openEdge(trustEndpoints({ trust: fixture.trust, reads, consul: false })));
  edge.server.onStop(() => reads.drain());
  const ask = (method: string, path: string, token = fixture.token): Promise<Got> =>
    edge.request(path, { method, headers: token === '' ? {} : { 'x-service-token': token } });
  const owned = parts.move();
  return {
    ...fixture,
    ask,
    async document(method, path) {
      const { status, text } = await ask(method, path);
      assert.equal(status, 200, text);
      const shown: unknown = JSON.parse(text);
      assert.ok(Check(authoritySchema, shown), text);
      return shown;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const ROTATE = '/v1/operator/ca/rotate';
const statuses = ({ Roots }: ShownAuthority): string[] => Roots.map(({ Status }) => Status);

describe('GET /v1/operator/ca', () => {
  test('shows the root, the server certificate and no key', async () => {
    await using served = await serve();
    const { status, text } = await served.ask('GET', '/v1/operator/ca');
    assert.equal(status, 200);
    assert.doesNotMatch(text, /PRIVATE|key/i);
    const shown = await served.document('GET', '/v1/operator/ca');
    assert.deepEqual([shown.Stage, statuses(shown), shown.NotAcknowledged], ['STABLE', ['ACTIVE'], []]);
    assert.equal(shown.ServerName, served.identity.serverName);
    assert.equal(shown.TrustDomain, served.identity.trustDomain);
    assert.equal(shown.ServerCertificate.RootID, shown.Roots[0]?.ID);
    assert.deepEqual(
      shown.Roots.map(({ PEM }) => PEM),
      served.identity.roots(served.state.snapshot),
    );
  });

  test('names the peers that are waited for, the first hundred of them', async () => {
    await using served = await serve();
    const names = Array.from({ length: UNACKNOWLEDGED_SHOWN_MAX + 1 }, (_, i) => `peer-${i}`);
    for (const name of names) await makePeering(served.state, name);
    const shown = await served.document('PUT', ROTATE);
    assert.equal(shown.NotAcknowledgedCount, names.length);
    assert.equal(shown.NotAcknowledged.length, UNACKNOWLEDGED_SHOWN_MAX);
    assert.ok(shown.NotAcknowledged.every(({ Name, State }) => names.includes(Name) && State === 'INITIAL'));
  });

  test('can wait: for a rotation, and for each acknowledgement', async () => {
    await using served = await serve();
    const id = await makePeering(served.state, 'east');
    const wait = async (): Promise<() => Promise<ShownAuthority>> => {
      const { headers } = await served.ask('GET', '/v1/operator/ca');
      const before = served.state.waiterCount;
      const answer = served.document('GET', `/v1/operator/ca?wait=1m&index=${headers['x-service-index']}`);
      await until('it waits', () => served.state.waiterCount > before);
      return () => answer;
    };
    const rotation = await wait();
    await served.document('PUT', ROTATE);
    assert.equal((await rotation()).Stage, 'ANNOUNCED');
    const acknowledged = await wait();
    const bundle = bundleFingerprint(served.identity.roots(served.state.snapshot));
    await served.state.write((tx) => recordAcknowledgement(tx, id, bundle));
    assert.equal((await acknowledged()).NotAcknowledgedCount, 0);
  });
});

describe('PUT and DELETE /v1/operator/ca/rotate', () => {
  test('begin a rotation and take it back', async () => {
    await using served = await serve();
    await makePeering(served.state, 'east');
    const before = await served.document('GET', '/v1/operator/ca');
    const announced = await served.document('PUT', ROTATE);
    assert.deepEqual([announced.Stage, statuses(announced)], ['ANNOUNCED', ['ACTIVE', 'NEXT']]);
    assert.equal(announced.Roots[0]?.ID, before.Roots[0]?.ID);
    assert.deepEqual(
      announced.NotAcknowledged.map(({ Name }) => Name),
      ['east'],
    );
    assert.deepEqual(await served.document('DELETE', ROTATE), before);
  });

  test('take back a rotation whose root is served already', async () => {
    await using served = await serve();
    const before = await served.document('GET', '/v1/operator/ca');
    served.startJob();
    await served.document('PUT', ROTATE);
    await until('it is served', async () => (await served.document('GET', '/v1/operator/ca')).Stage === 'SWITCHED');
    const switched = await served.document('GET', '/v1/operator/ca');
    assert.deepEqual(statuses(switched), ['ACTIVE', 'PREVIOUS']);
    assert.equal(switched.Roots[1]?.ID, before.Roots[0]?.ID);
    assert.deepEqual(await served.document('DELETE', ROTATE), before);
  });

  test('refuse a second rotation, one that is not there, and one that has ended', async () => {
    await using served = await serve();
    const none = await served.ask('DELETE', ROTATE);
    assert.deepEqual([none.status, none.text], [409, 'no rotation of the certificate authority is under way']);
    const before = await served.document('PUT', ROTATE);
    const second = await served.ask('PUT', ROTATE);
    assert.equal(second.status, 409);
    assert.match(second.text, /^a rotation of the certificate authority is under way/);
    served.startJob();
    await until('it is served', async () => (await served.document('GET', '/v1/operator/ca')).Stage === 'SWITCHED');
    served.clock.advance(SWITCHED_MS);
    await until('it has ended', async () => (await served.document('GET', '/v1/operator/ca')).Stage === 'STABLE');
    const over = await served.ask('DELETE', ROTATE);
    assert.equal(over.status, 409);
    assert.ok(over.text.includes(`the key of root ${before.Roots[0]?.ID} is gone; rotate again`), over.text);
    assert.equal((await served.document('GET', '/v1/operator/ca')).LastRetired?.ID, before.Roots[0]?.ID);
  });

  test('of two rotations at the same time one begins', async () => {
    await using served = await serve();
    const answers = await Promise.all([served.ask('PUT', ROTATE), served.ask('PUT', ROTATE)]);
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409]);
  });

  test('stand in the audit log with who asked, and without keys', async () => {
    await using served = await serve();
    await served.document('PUT', ROTATE);
    await served.document('DELETE', ROTATE);
    const entries = await served.state.scan(auditLog, { limit: 10 }, AbortSignal.timeout(10_000));
    const [made, rotated, back] = entries.map(({ row }) => row);
    assert.deepEqual([made?.action, made?.actor], ['create', 'system']);
    assert.deepEqual([rotated?.action, back?.action], ['rotate', 'rotate-back']);
    assert.ok(rotated !== undefined && rotated.actor === back?.actor && rotated.actor !== 'system');
    assert.deepEqual(rotated.before, made?.after);
    assert.deepEqual(back?.after, made?.after);
    assert.doesNotMatch(JSON.stringify(entries), /PRIVATE/);
  });
});

describe('the grant for', () => {
  const requests = [
    ['GET', '/v1/operator/ca', 'read'],
    ['PUT', ROTATE, 'write'],
    ['DELETE', ROTATE, 'write'],
  ] as const;
  const granted = (Access: Grant['Access'], Partition = '*'): Grant => ({ Resource: 'operator', Access, Partition });

  for (const [method, path, access] of requests) {
    test(`${method} ${path} is operator:${access} in all partitions`, async () => {
      await using served = await serve();
      const refused = [
        '',
        await makeToken(served.state, [granted('write', 'default')]),
        ...(access === 'write' ? [await makeToken(served.state, [granted('read')])] : []),
      ];
      for (const token of refused) {
        const { status, text } = await served.ask(method, path, token);
        assert.equal(status, 403);
        assert.ok(text.includes(`lacks permission 'operator:${access}'`), text);
      }
      const { status } = await served.ask(method, path, await makeToken(served.state, [granted(access)]));
      assert.equal(status, method === 'DELETE' ? 409 : 200);
    });
  }
});
