/** Many services that go on changing while the link between two clusters breaks and comes back. */
import { setTimeout as delay } from 'node:timers/promises';
import { startProxy } from '../proxy.ts';
import { until } from '../until.ts';
import { isActive, isFailing, peerClusters, startCluster } from './clusters.ts';
import { deregister, exportOnly, importedFrom, instances, register, untilImported } from './shared-services.ts';

export interface ResyncStorm {
  readonly services: number;
  readonly changesASecond: number;
  /** How often the link breaks. */
  readonly breaks: number;
  readonly seed?: number;
}

/** What came of it. */
export interface ResyncOutcome {
  /** Services of the peer that were seen without instances while the link was down, or without the link. */
  readonly emptied: readonly string[];
  /** Services whose instances differ in the end, with both sides. */
  readonly differing: readonly string[];
  readonly changes: number;
}

const AT_ONCE = 64;
/** How long the link is down: longer than it takes to notice. */
const DOWN_MS = 3_000;
/** Changes while it is: a busy machine gets more time for them. */
const DOWN_CHANGES_MIN = 30;

/** Runs it, between two clusters of its own. */
export async function runResyncStorm({ services, changesASecond, breaks }: ResyncStorm): Promise<ResyncOutcome> {
  await using exporting = await startCluster();
  await using importing = await startCluster({ settings: { 'cluster.datacenter': 'dc2' } });
  await using proxy = await startProxy(exporting.peeringPort);
  const names = Array.from({ length: services }, (_, i) => `service-${String(i).padStart(5, '0')}`);
  await inTurns(names, (service) => register(exporting, { service, port: 1 }));
  await exportOnly(exporting, { '*': ['importing'] });
  await peerClusters(exporting, importing, {
    to: 'importing',
    from: 'exporting',
    addresses: [`127.0.0.1:${proxy.port}`],
  });
  await untilImported(importing, 'exporting', names, 60_000);

  const emptied: string[] = [];
  const stopping = new AbortController();
  const gone = new Set<string>();
  let changes = 0;
  /** New ports; some services go, and some of those come back. */
  const changing = (async () => {
    for (let i = 0; !stopping.signal.aborted; i++) {
      const service = names[(i * 7_919) % names.length] as string;
      if (i % 10 === 9 && !gone.has(service)) {
        gone.add(service);
        await deregister(exporting, `${service}-node`);
      } else {
        gone.delete(service);
        await register(exporting, { service, port: 1_000 + i });
      }
      changes += 1;
      await delay(1_000 / changesASecond);
    }
  })();
  for (let i = 0; i < breaks; i++) {
    proxy.sever();
    await importing.untilRecord('exporting', isFailing, 30_000);
    const before = await importedFrom(importing, 'exporting');
    const changesBefore = changes;
    await delay(DOWN_MS);
    await until('much has changed', () => changes - changesBefore >= DOWN_CHANGES_MIN, 60_000);
    const meanwhile = await importedFrom(importing, 'exporting');
    for (const [name, count] of Object.entries(before)) if (meanwhile[name] !== count) emptied.push(name);
    proxy.heal();
    await importing.untilRecord('exporting', isActive, 60_000);
    await exporting.untilRecord('importing', isActive, 60_000);
  }
  stopping.abort();
  await changing;

  const left = names.filter((name) => !gone.has(name));
  await untilImported(importing, 'exporting', left, 60_000);
  const differing: string[] = [];
  await inTurns(left, async (service) => {
    const there = (await instances(exporting, service)).join();
    let here = '';
    const same = async (): Promise<boolean> => {
      here = (await instances(importing, service, 'exporting')).join();
      return here === there;
    };
    await until(`${service} is the same`, same, 20_000).catch(() => differing.push(`${service}: ${there} | ${here}`));
  });
  return { emptied, differing, changes };
}

async function inTurns<T>(things: readonly T[], act: (thing: T) => Promise<void>): Promise<void> {
  const waiting = things.values();
  const work = async (): Promise<void> => {
    for (const thing of waiting) await act(thing);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
