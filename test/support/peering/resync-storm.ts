/** Changes many services continuously while the connection between two clusters outages and recovers. */
import { setTimeout as delay } from 'node:timers/promises';
import { startProxy } from '../proxy.ts';
import { until } from '../until.ts';
import { deregister, exportOnly, importedFrom, instances, register, untilImported } from './cluster-services.ts';
import { isActive, isFailing, peerClusters, startCluster } from './clusters.ts';

export interface ResyncStorm {
  readonly services: number;
  readonly changesPerSecond: number;
  /** How often the connection outages. */
  readonly outages: number;
}

export interface ResyncOutcome {
  /** Services whose imported instances changed during an outage. */
  readonly lost: readonly string[];
  /** Services whose instances differ at the end, with the instances of both sides. */
  readonly differing: readonly string[];
  readonly changes: number;
}

const CONCURRENCY = 64;
/** The duration of an outage. It is longer than the heartbeat timeout. */
const OUTAGE_MS = 3_000;
/** The outage lasts longer on a busy machine, until this number of changes is reached. */
const OUTAGE_CHANGES_MIN = 30;

/** Runs the storm between two new clusters. */
export async function runResyncStorm({ services, changesPerSecond, outages }: ResyncStorm): Promise<ResyncOutcome> {
  await using exporting = await startCluster();
  await using importing = await startCluster({ settings: { 'cluster.datacenter': 'dc2' } });
  await using proxy = await startProxy(exporting.peeringPort);
  const names = Array.from({ length: services }, (_, i) => `service-${String(i).padStart(5, '0')}`);
  await forEachConcurrently(names, (service) => register(exporting, { service, port: 1 }));
  await exportOnly(exporting, { '*': ['importing'] });
  await peerClusters(exporting, importing, {
    to: 'importing',
    from: 'exporting',
    addresses: [`127.0.0.1:${proxy.port}`],
  });
  await untilImported(importing, 'exporting', names, 60_000);

  const lost: string[] = [];
  const stopping = new AbortController();
  const deregistered = new Set<string>();
  let changes = 0;
  /** Changes ports, removes services, and registers some of them again. */
  const changing = (async () => {
    for (let i = 0; !stopping.signal.aborted; i++) {
      const service = names[(i * 7_919) % names.length] as string;
      if (i % 10 === 9 && !deregistered.has(service)) {
        deregistered.add(service);
        await deregister(exporting, `${service}-node`);
      } else {
        deregistered.delete(service);
        await register(exporting, { service, port: 1_000 + i });
      }
      changes += 1;
      await delay(1_000 / changesPerSecond);
    }
  })();
  for (let i = 0; i < outages; i++) {
    proxy.sever();
    await importing.untilRecord('exporting', isFailing, 30_000);
    const before = await importedFrom(importing, 'exporting');
    const changesBefore = changes;
    await delay(OUTAGE_MS);
    await until('enough services have changed', () => changes - changesBefore >= OUTAGE_CHANGES_MIN, 60_000);
    const during = await importedFrom(importing, 'exporting');
    for (const [name, count] of Object.entries(before)) if (during[name] !== count) lost.push(name);
    proxy.heal();
    await importing.untilRecord('exporting', isActive, 60_000);
    await exporting.untilRecord('importing', isActive, 60_000);
  }
  stopping.abort();
  await changing;

  const remaining = names.filter((name) => !deregistered.has(name));
  await untilImported(importing, 'exporting', remaining, 60_000);
  const differing: string[] = [];
  await forEachConcurrently(remaining, async (service) => {
    const there = (await instances(exporting, service)).join();
    let here = '';
    const isEqual = async (): Promise<boolean> => {
      here = (await instances(importing, service, 'exporting')).join();
      return here === there;
    };
    await until(`${service} is equal on both sides`, isEqual, 20_000).catch(() =>
      differing.push(`${service}: ${there} | ${here}`),
    );
  });
  return { lost, differing, changes };
}

async function forEachConcurrently<T>(items: readonly T[], action: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const work = async (): Promise<void> => {
    for (const item of queue) await action(item);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}
