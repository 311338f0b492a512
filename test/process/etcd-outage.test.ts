/** A server whose etcd is unavailable: rejected writes, stale reads, and recovery. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startEtcd } from '../support/process/etcd.ts';
import { startEtcdServer } from '../support/process/etcd-server.ts';
import { startLoadClients } from '../support/process/load-clients.ts';
import type { Answer, Server } from '../support/process/server.ts';
import { untilQueriesWait } from '../support/process/waiting-queries.ts';
import { createRandom } from '../support/random.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** A consistent read fails after 3 s and a write after 10 s. `BUSY_MS` is the tolerance for a busy machine. */
const READ_MS = 3_000;
const WRITE_MS = 10_000;
const BUSY_MS = 10_000;
const RECOVERY_MS = 20_000;

const codeOf = (answer: Answer): unknown => answer.json<{ code?: unknown }>().code;
const asProblem = { headers: { accept: 'application/problem+json' } };

/** Asserts that a response arrives within `ms`, plus the tolerance. */
async function within(ms: number, response: Promise<Answer>): Promise<Answer> {
  const startMs = performance.now();
  const answer = await response;
  const elapsedMs = performance.now() - startMs;
  assert.ok(elapsedMs < ms + BUSY_MS, `took ${elapsedMs} ms`);
  return answer;
}

/** Asserts that a server that cannot reach a majority of etcd rejects consistent reads and writes. */
async function assertRejects(server: Server): Promise<void> {
  const [read, write] = await Promise.all([
    within(READ_MS, server.request('GET', '/v1/partitions', asProblem)),
    within(WRITE_MS, server.request('PUT', '/v1/partition/during', { body: {}, ...asProblem })),
  ]);
  assert.deepEqual([read.status, codeOf(read)], [503, 'unavailable']);
  assert.equal(write.status, 503);
  assert.ok(['unavailable', 'outcome-unknown'].includes(codeOf(write) as string), write.text);
  assert.ok(Number(read.headers['retry-after']) > 0 && Number(write.headers['retry-after']) > 0);
}

async function assertRecovers(server: Server): Promise<void> {
  const isReady = async (): Promise<boolean> => {
    const [read, ready] = await Promise.all([
      server.request('GET', '/v1/partitions'),
      server.request('GET', '/readyz', { token: null }),
    ]);
    return read.status === 200 && read.headers['x-service-knownleader'] === 'true' && ready.text === 'ready';
  };
  await until('consistent reads work again', isReady, RECOVERY_MS);
  const write = await server.request('PUT', '/v1/partition/after', { body: {} });
  assert.equal(write.status, 200, write.text);
}

describe('a server whose etcd is unavailable', { skip: skipWithout('etcd'), timeout: 120_000, concurrency: 2 }, () => {
  // Verifies [STATE-5] [STATE-60] [SRV-68].
  test('serves stale reads until stale.max-age [V1-60, V1-61, V1-62, V1-67, SRV-65, SRV-66]', async () => {
    await using etcd = await startEtcd();
    await using server = await startEtcdServer({ endpoints: etcd.urls, settings: { 'stale.max-age': '20s' } });
    await server.request('PUT', '/v1/partition/before', { body: {} });
    await etcd.first.stop();
    await assertRejects(server);

    const stale = (): Promise<Answer> => server.request('GET', '/v1/partition/before?stale');
    await until(
      'the store counts as lost',
      async () => {
        const answer = await stale();
        assert.equal(answer.status, 200, answer.text);
        assert.equal(answer.headers['x-service-effective-consistency'], 'stale');
        return answer.headers['x-service-knownleader'] === 'false';
      },
      RECOVERY_MS,
    );
    assert.ok(Number((await stale()).headers['x-service-lastcontact']) >= 10_000);
    const degraded = await server.request('GET', '/readyz', { token: null });
    assert.deepEqual([degraded.status, degraded.text], [200, 'degraded']);

    await until('stale reads are too old', async () => (await stale()).status === 503, RECOVERY_MS);
    assert.match((await stale()).text, /stale\.max-age/);
    assert.equal((await server.request('GET', '/readyz', { token: null })).status, 503);
    assert.equal((await server.request('GET', '/healthz', { token: null })).status, 200);

    await etcd.first.start();
    await assertRecovers(server);
    assert.match(server.log(), /"msg":"etcd does not answer"/);
    assert.match(server.log(), /"msg":"etcd answers again"/);
  });

  test('keeps blocking queries waiting without a majority, and wakes them at the next change', async () => {
    await using etcd = await startEtcd({ members: 3 });
    await using server = await startEtcdServer({ endpoints: etcd.urls });
    const before = await server.request('PUT', '/v1/partition/before', { body: {} });
    const { headers } = await server.request('GET', '/v1/partitions');
    const waiting = server.request('GET', `/v1/partitions?index=${headers['x-service-index']}&wait=2m`);
    await untilQueriesWait(server, 1);
    const [, second, third] = etcd.members;
    second?.freeze();
    third?.freeze();
    // A busy process stops a moment after SIGSTOP.
    const isRejected = async (): Promise<boolean> => (await server.request('GET', '/v1/partitions')).status === 503;
    await until('the majority is lost', isRejected);
    await assertRejects(server);
    const stale = await server.request('GET', '/v1/partition/before?stale');
    assert.deepEqual([stale.status, stale.text], [200, before.text]);
    second?.thaw();
    third?.thaw();
    await assertRecovers(server);
    const woken = await waiting;
    assert.ok(Number(woken.headers['x-service-index']) > Number(headers['x-service-index']));
  });

  // Verifies [SRV-28].
  test('starts without etcd, answers 503 until etcd is available, and then serves [SRV-63, ETCD-22]', async () => {
    await using etcd = await startEtcd();
    await etcd.first.stop();
    await using server = await startEtcdServer({ endpoints: etcd.urls, resolveWhenListening: true });
    const ready = await server.request('GET', '/readyz', { token: null });
    assert.deepEqual([ready.status, ready.headers['retry-after']], [503, '1']);
    await etcd.first.start();
    const isReady = async (): Promise<boolean> =>
      (await server.request('GET', '/readyz', { token: null })).status === 200;
    await until('the server is ready', isReady, RECOVERY_MS);
  });
});

describe('a server whose etcd loses members', { skip: skipWithout('etcd'), timeout: 120_000 }, () => {
  test('commits without one of three members or without the leader, and loses no write [V1-51]', async (context) => {
    await using etcd = await startEtcd({ members: 3 });
    await using server = await startEtcdServer({ endpoints: etcd.urls });
    await using clients = startLoadClients({
      addresses: [server.address],
      token: server.token,
      random: createRandom(1),
    });
    const moreWrites = async (what: string): Promise<void> => {
      const { acknowledged } = clients;
      const isDone = until(what, () => clients.acknowledged >= acknowledged + 30, RECOVERY_MS);
      await Promise.race([isDone, clients.failure]);
    };
    await moreWrites('writes');
    for (let round = 0; round < 2; round += 1) {
      const leader = await etcd.leader();
      const other = etcd.members.find((member) => member !== leader) ?? leader;
      for (const member of [other, leader]) {
        await member.kill();
        await moreWrites('writes succeed without the member');
        await member.start();
        await moreWrites('writes succeed with the member');
      }
    }
    await clients.stop();
    await clients.verify();
    context.diagnostic(JSON.stringify(clients.counts));
  });
});
