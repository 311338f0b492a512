/** What tests ask when a service is not where it is looked for. */

import { until } from '../until.ts';
import type { Cluster } from './clusters.ts';

interface Walk {
  readonly Arrives?: boolean;
  readonly StopsAt?: string;
  readonly Steps: readonly { readonly Step: string; readonly Status: string; readonly Detail?: string }[];
}

export interface Explanation {
  readonly Outgoing: Walk;
  readonly Incoming: Walk;
}

export interface Diff {
  readonly Comparable: boolean;
  readonly Reason?: string;
  readonly Differences: readonly { readonly Service: string; readonly Difference: string; readonly Reason?: string }[];
}

/** Where a walk stops, as `step status: detail`; `arrives` where it does not, `unknown` where nobody can tell. */
export function stopOf({ Arrives, StopsAt, Steps }: Walk): string {
  const stop = Steps.find(({ Step }) => Step === StopsAt);
  if (stop === undefined) return Arrives === true ? 'arrives' : 'unknown';
  return `${stop.Step} ${stop.Status}: ${stop.Detail}`;
}

async function get<T>(cluster: Cluster, path: string): Promise<T> {
  const answer = await cluster.request('GET', path);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return answer.json<T>();
}

/** Waits until the walk to the peer, or from it, stops where it should. */
export async function untilStopsAt(
  cluster: Cluster,
  way: keyof Explanation,
  { service, peer }: { readonly service: string; readonly peer: string },
  wanted: RegExp,
): Promise<void> {
  let found = '';
  const fits = async (): Promise<boolean> => {
    found = stopOf((await get<Explanation>(cluster, `/v1/peering/${peer}/explain?service=${service}`))[way]);
    return wanted.test(found);
  };
  await until(`${way} ${service} stops at ${wanted}`, fits, 20_000).catch((error: Error) => {
    throw new Error(`${error.message}; it is ${found}`);
  });
}

/** What differs, as `service difference`; undefined: nothing can be compared. */
export async function diffOf(cluster: Cluster, peer: string): Promise<readonly string[] | undefined> {
  const { Comparable, Differences } = await get<Diff>(cluster, `/v1/peering/${peer}/diff`);
  return Comparable ? Differences.map(({ Service, Difference }) => `${Service} ${Difference}`) : undefined;
}

/** Waits until exactly this differs. */
export async function untilDiff(cluster: Cluster, peer: string, wanted: readonly string[]): Promise<void> {
  let found: readonly string[] | undefined;
  const fits = async (): Promise<boolean> => {
    found = await diffOf(cluster, peer);
    return found?.join() === wanted.join();
  };
  await until(`the diff with ${peer} is ${wanted.join()}`, fits, 20_000).catch((error: Error) => {
    throw new Error(`${error.message}; it is ${found?.join()}`);
  });
}
