/** Kills one of two clusters at a crash point, restarts it, and checks that both records are correct. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Answer } from '../process/server.ts';
import { type FaultProxy, startProxy } from '../proxy.ts';
import { until } from '../until.ts';
import { type Cluster, isActive, isFailing, isTerminated, type RecordJson } from './clusters.ts';
import { type CrashMoment, type CrashPoint, deletingSideIn, SIDES, type SideName } from './crash-points.ts';
import { tokenForProxy } from './peering-requests.ts';

export type CrashClusters = Readonly<Record<SideName, Cluster>>;

/** One peering of the two clusters. Its stream passes through a proxy of its own. */
interface CrashScenario {
  readonly clusters: CrashClusters;
  readonly name: string;
  readonly proxy: FaultProxy;
}

/** Allows for all pauses between dials that one crash point can cause, and for a busy machine. */
const CONVERGENCE_MS_MAX = 30_000;
/** The time after which a step is over. When its crash point was not reached, the victim is killed then. */
const STEP_MS_MAX = 4_000;

/** Tests a crash point with a new peering `name`. */
export async function testCrash(clusters: CrashClusters, point: CrashPoint, name: string): Promise<void> {
  await using proxy = await startProxy(clusters.accepting.peeringPort);
  const scenario = { clusters, name, proxy };
  const deletingSide = deletingSideIn(point.step);
  if (point.step === 'establish') await crashInEstablish(scenario, point);
  else {
    assert.equal((await (await prepareEstablish(scenario))()).status, 200);
    await awaitBothActive(scenario);
    if (deletingSide !== undefined) await crashInDeletion(scenario, point, deletingSide);
    else {
      await crash(scenario, point, await prepareEstablish(scenario));
      await awaitBothActive(scenario);
    }
  }
  for (const side of SIDES) await clusters[side].request('DELETE', `/v1/peering/${name}`);
}

async function crashInEstablish(scenario: CrashScenario, point: CrashPoint): Promise<void> {
  await checkEstablished(scenario, await crash(scenario, point, await prepareEstablish(scenario)));
}

async function crashInDeletion(scenario: CrashScenario, point: CrashPoint, deletingSide: SideName): Promise<void> {
  const { clusters, name, proxy } = scenario;
  const requestDelete = (): Promise<Answer> => clusters[deletingSide].request('DELETE', `/v1/peering/${name}`);
  if (point.step.startsWith('delete')) {
    await checkDeleted(scenario, deletingSide, await crash(scenario, point, requestDelete));
    return;
  }
  proxy.sever();
  const answer = await requestDelete();
  // Otherwise the live stream would report the deletion.
  await clusters[otherSide(deletingSide)].untilRecord(name, isFailing);
  await crash(scenario, point, async () => proxy.heal());
  await checkDeleted(scenario, deletingSide, answer);
}

const otherSide = (side: SideName): SideName => (side === 'accepting' ? 'dialing' : 'accepting');

/** Generates a token. Returns the function that establishes with it. */
async function prepareEstablish(
  { clusters, name, proxy }: CrashScenario,
  local = name,
): Promise<() => Promise<Answer>> {
  const token = tokenForProxy(await clusters.accepting.generate(name), proxy);
  return () => clusters.dialing.establish(local, token);
}

/** Runs `action`, kills the victim at the moment, and restarts it. @returns undefined when it died without an answer */
async function crash<T>(
  { clusters, name, proxy }: CrashScenario,
  point: CrashPoint,
  action: () => Promise<T>,
): Promise<T | undefined> {
  const victim = clusters[point.victim];
  const { moment } = point;
  const killed = Promise.withResolvers<void>();
  const kill = (): void => void victim.kill().then(killed.resolve, killed.reject);
  if ('chunk' in moment) killAtChunk(proxy, moment, kill);
  else void awaitState(victim, name, moment.state).then(kill, killed.reject);
  const answered = action().catch(() => undefined);
  await Promise.race([killed.promise, answered.then(() => delay(STEP_MS_MAX, undefined, { ref: false }))]);
  proxy.filterChunks(undefined);
  await victim.kill();
  const answer = await answered;
  await victim.start();
  return answer;
}

/** Delivers a chunk completely or not at all, kills the victim, and delivers nothing after it. */
function killAtChunk(
  proxy: FaultProxy,
  { chunk, isDelivered }: Extract<CrashMoment, { chunk: number }>,
  kill: () => void,
): void {
  let seen = 0;
  proxy.filterChunks((_direction, bytes) => {
    seen += 1;
    if (seen === chunk) kill();
    return seen < chunk || (seen === chunk && isDelivered) ? bytes.length : 0;
  });
}

/** Resolves when a blocking query has returned the record in `state`. */
async function awaitState(cluster: Cluster, name: string, state: RecordJson['State']): Promise<void> {
  for (let index = '0'; ; ) {
    const { status, headers, json } = await cluster.request('GET', `/v1/peering/${name}?wait=1m&index=${index}`);
    if (status === 200 && json<RecordJson>().State === state) return;
    index = String(headers['x-service-index']);
  }
}

async function awaitBothActive({ clusters, name }: CrashScenario, local = name): Promise<void> {
  const { accepting, dialing } = clusters;
  await dialing.untilRecord(local, isActive, CONVERGENCE_MS_MAX);
  await accepting.untilRecord(name, isActive, CONVERGENCE_MS_MAX);
  // A record can still be ACTIVE because of the previous stream, so the loop also waits for a new message.
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

/** Checks that an establish either leads to ACTIVE, or leaves no record and succeeds with another token. */
async function checkEstablished(scenario: CrashScenario, answer: Answer | undefined): Promise<void> {
  const { clusters, name } = scenario;
  const made = (await clusters.dialing.record(name)) !== undefined;
  if (answer !== undefined) assert.equal(made, answer.status === 200, `${answer.status} ${answer.text}`);
  if (made) {
    await awaitBothActive(scenario);
    return;
  }
  if (answer !== undefined) assert.ok([403, 503].includes(answer.status), `${answer.status} ${answer.text}`);
  assert.equal((await clusters.accepting.record(name))?.State, 'INITIAL');
  // An establish that died with its server still reserves the name [PEER-54].
  const local = answer === undefined ? `${name}-again` : name;
  const again = await (await prepareEstablish(scenario, local))();
  assert.equal(again.status, 200, again.text);
  await awaitBothActive(scenario, local);
  if (local !== name) await clusters.dialing.request('DELETE', `/v1/peering/${local}`);
}

/** Checks that an answered deletion is complete and reaches the other cluster. An unanswered one may have failed. */
async function checkDeleted(
  scenario: CrashScenario,
  deletingSide: SideName,
  answer: Answer | undefined,
): Promise<void> {
  const { clusters, name } = scenario;
  const record = await clusters[deletingSide].record(name);
  const isDeleted = record === undefined || record.DeletedAt !== undefined;
  if (answer !== undefined) assert.ok(answer.status === 200 && isDeleted, `${answer.status} ${JSON.stringify(record)}`);
  if (!isDeleted) {
    await awaitBothActive(scenario);
    return;
  }
  const other = clusters[otherSide(deletingSide)];
  assert.equal((await other.untilRecord(name, isTerminated, CONVERGENCE_MS_MAX)).DeletedAt, undefined);
}
