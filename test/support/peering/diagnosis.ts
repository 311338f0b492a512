/** Requests to the endpoints `explain` and `diff` of a peering. */

import { until } from '../until.ts';
import type { Cluster } from './clusters.ts';

interface Direction {
  readonly Arrives?: boolean;
  readonly StopsAt?: string;
  readonly Steps: readonly { readonly Step: string; readonly Status: string; readonly Detail?: string }[];
}

export interface Explanation {
  readonly Outgoing: Direction;
  readonly Incoming: Direction;
}

export interface Diff {
  readonly Comparable: boolean;
  readonly Reason?: string;
  readonly Differences: readonly { readonly Service: string; readonly Difference: string; readonly Reason?: string }[];
}

/** Describes the step at which a service stops, as `step status: detail`, or returns `arrives` or `unknown`. */
export function describeStop({ Arrives, StopsAt, Steps }: Direction): string {
  const stop = Steps.find(({ Step }) => Step === StopsAt);
  if (stop === undefined) return Arrives === true ? 'arrives' : 'unknown';
  return `${stop.Step} ${stop.Status}: ${stop.Detail}`;
}

async function get<T>(cluster: Cluster, path: string): Promise<T> {
  const answer = await cluster.request('GET', path);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return answer.json<T>();
}

/** Waits until the description of the stop matches `wanted`. */
export async function untilStopsAt(
  cluster: Cluster,
  direction: keyof Explanation,
  { service, peer }: { readonly service: string; readonly peer: string },
  wanted: RegExp,
): Promise<void> {
  let last = '';
  const fits = async (): Promise<boolean> => {
    last = describeStop((await get<Explanation>(cluster, `/v1/peering/${peer}/explain?service=${service}`))[direction]);
    return wanted.test(last);
  };
  await until(`${direction} ${service} stops at ${wanted}`, fits, 20_000).catch((error: Error) => {
    throw new Error(`${error.message}; it is ${last}`);
  });
}

/** Returns the differences, as `service difference`, or undefined when `Comparable` is false. */
export async function readDiff(cluster: Cluster, peer: string): Promise<readonly string[] | undefined> {
  const { Comparable, Differences } = await get<Diff>(cluster, `/v1/peering/${peer}/diff`);
  return Comparable ? Differences.map(({ Service, Difference }) => `${Service} ${Difference}`) : undefined;
}

/** Waits until the differences are exactly `wanted`. */
export async function untilDiff(cluster: Cluster, peer: string, wanted: readonly string[]): Promise<void> {
  let last: readonly string[] | undefined;
  const fits = async (): Promise<boolean> => {
    last = await readDiff(cluster, peer);
    return last?.join() === wanted.join();
  };
  await until(`the diff with ${peer} is ${wanted.join()}`, fits, 20_000).catch((error: Error) => {
    throw new Error(`${error.message}; it is ${last?.join()}`);
  });
}
