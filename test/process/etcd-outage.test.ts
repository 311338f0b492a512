/** A whole server whose etcd is away: what is refused, what goes on, and that it comes back by itself. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startEtcd } from '../support/process/etcd.ts';
import { startEtcdServer } from '../support/process/etcd-server.ts';
import { untilHeld } from '../support/process/held-queries.ts';
import type { Answer, Server } from '../support/process/server.ts';
import { startClients } from '../support/process/storm-clients.ts';
import { createRandom } from '../support/random.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** A consistent read gives up after 3 s, a write after 10 s; the rest is for a machine that is busy. */
const READ_MS = 3_000;
const WRITE_MS = 10_000;
const BUSY_MS = 10_000;
const RECOVERY_MS = 20_000;

const codeOf = (answer: Answer): unknown => answer.json<{ code?: unknown }>().code;
const asProblem = { headers: { accept: 'application/problem+json' } };

/** The answer, which must come within `ms` and what a busy machine adds. */
async function within(ms: number, answer: Promise<Answer>): Promise<Answer> {
  const startedMs = performance.now();
  const given = await answer;
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs < ms + BUSY_MS, `took ${tookMs} ms`);
  return given;
}

/** Consistent reads and writes of a server that cannot reach a majority of etcd. */
async function assertRefused(server: Server): Promise<void> {
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

describe('a server whose etcd is away', { skip: skipWithout('etcd'), timeout: 120_000, concurrency: 2 }, () => {
  test('etcd stopped: stale reads go on and say so until stale.max-age; all is well once it is back', async () => {
    await using etcd = await startEtcd();
    await using server = await startEtcdServer({ endpoints: etcd.urls, settings: { 'stale.max-age': '20s' } });
    await server.request('PUT', '/v1/partition/before', { body: {} });
    await etcd.first.stop();
    await assertRefused(server);

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

  test('two of three members frozen: a blocking query is held through it, and answered by the next change', async () => {
    await using etcd = await startEtcd({ members: 3 });
    await using server = await startEtcdServer({ endpoints: etcd.urls });
    const before = await server.request('PUT', '/v1/partition/before', { body: {} });
    const { headers } = await server.request('GET', '/v1/partitions');
    const held = server.request('GET', `/v1/partitions?index=${headers['x-service-index']}&wait=2m`);
    await untilHeld(server, 1);
    const [, second, third] = etcd.members;
    second?.freeze();
    third?.freeze();
    // A process that has much to do stops a moment after it was told to.
    const isRefused = async (): Promise<boolean> => (await server.request('GET', '/v1/partitions')).status === 503;
    await until('the majority is gone', isRefused);
    await assertRefused(server);
    const stale = await server.request('GET', '/v1/partition/before?stale');
    assert.deepEqual([stale.status, stale.text], [200, before.text]);
    second?.thaw();
    third?.thaw();
    await assertRecovers(server);
    const woken = await held;
    assert.ok(Number(woken.headers['x-service-index']) > Number(headers['x-service-index']));
  });

  test('a start before etcd is there: it lives, is not ready, and begins to serve by itself', async () => {
    await using etcd = await startEtcd();
    await etcd.first.stop();
    await using server = await startEtcdServer({ endpoints: etcd.urls, unready: true });
    const ready = await server.request('GET', '/readyz', { token: null });
    assert.deepEqual([ready.status, ready.headers['retry-after']], [503, '1']);
    await etcd.first.start();
    const isReady = async (): Promise<boolean> =>
      (await server.request('GET', '/readyz', { token: null })).status === 200;
    await until('it is ready', isReady, RECOVERY_MS);
  });
});

describe('a server whose etcd loses members', { skip: skipWithout('etcd'), timeout: 120_000 }, () => {
  test('goes on writing without one of three, and without its leader, and loses nothing', async (context) => {
    await using etcd = await startEtcd({ members: 3 });
    await using server = await startEtcdServer({ endpoints: etcd.urls });
    await using clients = startClients({
      addresses: [server.address],
      token: server.token,
      random: createRandom(1),
    });
    const moreWrites = async (what: string): Promise<void> => {
      const { done } = clients;
      const gone = until(what, () => clients.done >= done + 30, RECOVERY_MS);
      await Promise.race([gone, clients.failure]);
    };
    await moreWrites('writes');
    for (let round = 0; round < 2; round += 1) {
      const leader = await etcd.leader();
      const other = etcd.members.find((member) => member !== leader) ?? leader;
      for (const member of [other, leader]) {
        await member.kill();
        await moreWrites('writes go on without it');
        await member.start();
        await moreWrites('writes go on with it');
      }
    }
    await clients.stop();
    await clients.verify();
    context.diagnostic(JSON.stringify(clients.counts));
  });
});
