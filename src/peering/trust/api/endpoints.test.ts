import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Check } from 'typebox/value';
import { until } from '../../../../test/support/until.ts';
import { auditLog } from '../../../audit/record.ts';
import type { Grant } from '../../../credentials/acl-token.ts';
import { createBlockingQueries } from '../../../http/blocking/blocking-query.ts';
import { type ReceivedResponse, startTestServer } from '../../../http/server/test-server.suite.ts';
import { systemClock } from '../../../state/clock/clock.ts';
import { bundleFingerprint, recordAcknowledgment } from '../acknowledgment.ts';
import { SWITCHED_MS, UNACKNOWLEDGED_LISTED_MAX } from '../limits.ts';
import { makePeering, makeToken, openTrust, type TrustFixture } from '../trust.suite.ts';
import { type AuthorityJson, authoritySchema } from './authority-to-json.ts';
import { trustEndpoints } from './endpoints.ts';

interface Served extends TrustFixture {
  /** Sends a request. @param token defaults to the token with every grant */
  ask(method: string, path: string, token?: string): Promise<ReceivedResponse>;
  /** Sends a request that must return the document. */
  document(method: string, path: string): Promise<AuthorityJson>;
}

async function serve(): Promise<Served> {
  await using stack = new AsyncDisposableStack();
  const fixture = stack.use(await openTrust());
  const reads = createBlockingQueries({
    state: fixture.state,
    clock: systemClock,
    random: () => 0,
    defaultPolicy: 'deny',
    staleMaxAgeMs: 600_000,
    waitingMax: 100,
    waitingPerTokenMax: 100,
    waitingPerAddressMax: 100,
  });
  const edge = stack.use(await startTestServer(trustEndpoints({ trust: fixture.trust, reads, consul: false })));
  edge.http.onStop(() => reads.drain());
  const ask = (method: string, path: string, token = fixture.token): Promise<ReceivedResponse> =>
    edge.request(path, { method, headers: token === '' ? {} : { 'x-service-token': token } });
  const owned = stack.move();
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
const statuses = ({ Roots }: AuthorityJson): string[] => Roots.map(({ Status }) => Status);

describe('GET /v1/operator/ca', () => {
  test('returns the CA root and the server certificate, and no private key [PEER-90]', async () => {
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

  test('lists at most 100 unacknowledged peers [PEER-90]', async () => {
    await using served = await serve();
    const names = Array.from({ length: UNACKNOWLEDGED_LISTED_MAX + 1 }, (_, i) => `peer-${i}`);
    for (const name of names) await makePeering(served.state, name);
    const shown = await served.document('PUT', ROTATE);
    assert.equal(shown.NotAcknowledgedCount, names.length);
    assert.equal(shown.NotAcknowledged.length, UNACKNOWLEDGED_LISTED_MAX);
    assert.ok(shown.NotAcknowledged.every(({ Name, State }) => names.includes(Name) && State === 'INITIAL'));
  });

  test('answers a blocking query after a rotation and after each acknowledgment', async () => {
    await using served = await serve();
    const id = await makePeering(served.state, 'east');
    const wait = async (): Promise<() => Promise<AuthorityJson>> => {
      const { headers } = await served.ask('GET', '/v1/operator/ca');
      const before = served.state.waiterCount;
      const answer = served.document('GET', `/v1/operator/ca?wait=1m&index=${headers['x-service-index']}`);
      await until('the query waits', () => served.state.waiterCount > before);
      return () => answer;
    };
    const rotation = await wait();
    await served.document('PUT', ROTATE);
    assert.equal((await rotation()).Stage, 'ANNOUNCED');
    const acknowledged = await wait();
    const bundle = bundleFingerprint(served.identity.roots(served.state.snapshot));
    await served.state.write((tx) => recordAcknowledgment(tx, id, bundle));
    assert.equal((await acknowledged()).NotAcknowledgedCount, 0);
  });
});

describe('PUT and DELETE /v1/operator/ca/rotate', () => {
  test('start a rotation and revert it from ANNOUNCED [PEER-88] [PEER-89]', async () => {
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

  test('revert a rotation from SWITCHED [PEER-89]', async () => {
    await using served = await serve();
    const before = await served.document('GET', '/v1/operator/ca');
    served.startJob();
    await served.document('PUT', ROTATE);
    await until(
      'the new root is served',
      async () => (await served.document('GET', '/v1/operator/ca')).Stage === 'SWITCHED',
    );
    const switched = await served.document('GET', '/v1/operator/ca');
    assert.deepEqual(statuses(switched), ['ACTIVE', 'PREVIOUS']);
    assert.equal(switched.Roots[1]?.ID, before.Roots[0]?.ID);
    assert.deepEqual(await served.document('DELETE', ROTATE), before);
  });

  test('return 409 for a second rotation, without a rotation, and after one has ended', async () => {
    await using served = await serve();
    const none = await served.ask('DELETE', ROTATE);
    assert.deepEqual([none.status, none.text], [409, 'no rotation of the certificate authority is under way']);
    const before = await served.document('PUT', ROTATE);
    const second = await served.ask('PUT', ROTATE);
    assert.equal(second.status, 409);
    assert.match(second.text, /^a rotation of the certificate authority is under way/);
    served.startJob();
    await until(
      'the new root is served',
      async () => (await served.document('GET', '/v1/operator/ca')).Stage === 'SWITCHED',
    );
    served.clock.advance(SWITCHED_MS);
    await until(
      'the rotation has ended',
      async () => (await served.document('GET', '/v1/operator/ca')).Stage === 'STABLE',
    );
    const over = await served.ask('DELETE', ROTATE);
    assert.equal(over.status, 409);
    assert.ok(over.text.includes(`the key of root ${before.Roots[0]?.ID} was deleted; rotate again`), over.text);
    assert.equal((await served.document('GET', '/v1/operator/ca')).LastRetired?.ID, before.Roots[0]?.ID);
  });

  test('start only one of two concurrent rotations', async () => {
    await using served = await serve();
    const answers = await Promise.all([served.ask('PUT', ROTATE), served.ask('PUT', ROTATE)]);
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409]);
  });

  test('write the caller and no private key to the audit log [ACL-65]', async () => {
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

describe('authorization of the certificate authority', () => {
  const requests = [
    ['GET', '/v1/operator/ca', 'read'],
    ['PUT', ROTATE, 'write'],
    ['DELETE', ROTATE, 'write'],
  ] as const;
  const granted = (Access: Grant['Access'], Partition = '*'): Grant => ({ Resource: 'operator', Access, Partition });

  for (const [method, path, access] of requests) {
    test(`${method} ${path} requires operator:${access} in all partitions [PEER-11] [ACL-27]`, async () => {
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
