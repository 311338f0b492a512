/** Kills one of two clusters at a point of a peering's life, starts it again, and checks that both say what is so. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '../process/server.ts';
import { type FaultProxy, startProxy } from '../proxy.ts';
import { until } from '../until.ts';
import { type Cluster, isActive, isFailing, isTerminated, type ShownRecord } from './clusters.ts';
import { type CrashPoint, deleterIn, type Moment, SIDES, type SideName } from './crash-points.ts';
import { tokenThrough } from './edited-token.ts';

export type CrashClusters = Readonly<Record<SideName, Cluster>>;

/** One peering of the two, which goes through a proxy of its own. */
interface Scene {
  readonly clusters: CrashClusters;
  readonly name: string;
  readonly proxy: FaultProxy;
}

/** As many pauses between two attempts as can come together in one point, and what a busy machine adds. */
const CONVERGED_MS = 30_000;
/** A step that has come to its end before the point: what is killed then has nothing under way. */
const OVER_MS = 4_000;

/** Does the step of a peering `name`, which is new, with the crash, and checks what it has come to. */
export async function crashPeering(clusters: CrashClusters, point: CrashPoint, name: string): Promise<void> {
  await using proxy = await startProxy(clusters.accepting.peeringPort);
  const scene = { clusters, name, proxy };
  const deleter = deleterIn(point.step);
  if (point.step === 'establish') await crashInEstablish(scene, point);
  else {
    assert.equal((await (await establishing(scene))()).status, 200);
    await bothActive(scene);
    if (deleter !== undefined) await crashInDeletion(scene, point, deleter);
    else {
      await crash(scene, point, await establishing(scene));
      await bothActive(scene);
    }
  }
  for (const side of SIDES) await clusters[side].request('DELETE', `/v1/peering/${name}`);
}

async function crashInEstablish(scene: Scene, point: CrashPoint): Promise<void> {
  await checkEstablished(scene, await crash(scene, point, await establishing(scene)));
}

async function crashInDeletion(scene: Scene, point: CrashPoint, deleter: SideName): Promise<void> {
  const { clusters, name, proxy } = scene;
  const deleting = (): Promise<Answer> => clusters[deleter].request('DELETE', `/v1/peering/${name}`);
  if (point.step.startsWith('delete')) {
    await checkDeleted(scene, deleter, await crash(scene, point, deleting));
    return;
  }
  proxy.sever();
  const answer = await deleting();
  // The other side would be told by the stream that still is.
  await clusters[otherThan(deleter)].untilRecord(name, isFailing);
  await crash(scene, point, async () => proxy.heal());
  await checkDeleted(scene, deleter, answer);
}

const otherThan = (side: SideName): SideName => (side === 'accepting' ? 'dialing' : 'accepting');

/** A token is made; what is given establishes with it. */
async function establishing({ clusters, name, proxy }: Scene, local = name): Promise<() => Promise<Answer>> {
  const token = tokenThrough(await clusters.accepting.generate(name), proxy);
  return () => clusters.dialing.establish(local, token);
}

/** Acts, kills the victim when its moment has come, and starts it again. @returns undefined when it died of it before it answered */
async function crash<T>(
  { clusters, name, proxy }: Scene,
  point: CrashPoint,
  act: () => Promise<T>,
): Promise<T | undefined> {
  const victim = clusters[point.victim];
  const { moment } = point;
  const killed = Promise.withResolvers<void>();
  const kill = (): void => void victim.kill().then(killed.resolve, killed.reject);
  if ('piece' in moment) killAtPiece(proxy, moment, kill);
  else void followTo(victim, name, moment.state).then(kill, killed.reject);
  const asked = act().catch(() => undefined);
  await Promise.race([killed.promise, asked.then(() => delay(OVER_MS, undefined, { ref: false }))]);
  proxy.filterChunks(undefined);
  await victim.kill();
  const answer = await asked;
  await victim.start();
  return answer;
}

/** The piece arrives whole or not at all, and nothing after it. */
function killAtPiece(proxy: FaultProxy, { piece, passed }: Extract<Moment, { piece: number }>, kill: () => void): void {
  let seen = 0;
  proxy.filterChunks((_direction, chunk) => {
    seen += 1;
    if (seen === piece) kill();
    return seen < piece || (seen === piece && passed) ? chunk.length : 0;
  });
}

/** Resolves as soon as a blocking query has brought the record in that state. */
async function followTo(cluster: Cluster, name: string, state: ShownRecord['State']): Promise<void> {
  for (let index = '0'; ; ) {
    const { status, headers, json } = await cluster.request('GET', `/v1/peering/${name}?wait=1m&index=${index}`);
    if (status === 200 && json<ShownRecord>().State === state) return;
    index = String(headers['x-service-index']);
  }
}

async function bothActive({ clusters, name }: Scene, local = name): Promise<void> {
  const { accepting, dialing } = clusters;
  await dialing.untilRecord(local, isActive, CONVERGED_MS);
  await accepting.untilRecord(name, isActive, CONVERGED_MS);
  // One could be left from before: that it says so again after a heartbeat timeout needs a stream.
  for (const [cluster, which] of [
    [accepting, name],
    [dialing, local],
  ] as const) {
    const before = (await cluster.record(which))?.StreamStatus.LastReceive;
    await until(`something is heard of ${which}, and it is ACTIVE`, async () => {
      const record = await cluster.record(which);
      return isActive(record) && record?.StreamStatus.LastReceive !== before;
    });
  }
}

/** An establish that succeeded leads to ACTIVE; one that did not has left nothing, and another token does. */
async function checkEstablished(scene: Scene, answer: Answer | undefined): Promise<void> {
  const { clusters, name } = scene;
  const made = (await clusters.dialing.record(name)) !== undefined;
  if (answer !== undefined) assert.equal(made, answer.status === 200, `${answer.status} ${answer.text}`);
  if (made) {
    await bothActive(scene);
    return;
  }
  if (answer !== undefined) assert.ok([403, 503].includes(answer.status), `${answer.status} ${answer.text}`);
  assert.equal((await clusters.accepting.record(name))?.State, 'INITIAL');
  // The name can still be held by the establish that died with its server.
  const local = answer === undefined ? `${name}-again` : name;
  const again = await (await establishing(scene, local))();
  assert.equal(again.status, 200, again.text);
  await bothActive(scene, local);
  if (local !== name) await clusters.dialing.request('DELETE', `/v1/peering/${local}`);
}

/** A deletion that was answered has happened, and the other side comes to know; one that was not has happened or not. */
async function checkDeleted(scene: Scene, deleter: SideName, answer: Answer | undefined): Promise<void> {
  const { clusters, name } = scene;
  const record = await clusters[deleter].record(name);
  const isDeleted = record === undefined || record.DeletedAt !== undefined;
  if (answer !== undefined) assert.ok(answer.status === 200 && isDeleted, `${answer.status} ${JSON.stringify(record)}`);
  if (!isDeleted) {
    await bothActive(scene);
    return;
  }
  const other = clusters[otherThan(deleter)];
  assert.equal((await other.untilRecord(name, isTerminated, CONVERGED_MS)).DeletedAt, undefined);
}
