/** A kind of resource that workers write: its requests, and how their responses are parsed. */
import type { Answer } from '../../test/support/process/server.ts';
import type { ApiRequest } from '../client.ts';

export type ClusterName = 'a' | 'b';

/** One resource as a response shows it. */
export interface Observation {
  /** The value, or ABSENT. */
  readonly value: string;
  /** The server-generated ID, for kinds whose requests need one. */
  readonly id?: string;
  /** `ModifyIndex`. */
  readonly index?: number;
}

/** A request that the server must reject with `status`, without any effect. */
export interface InvalidRequest {
  readonly request: ApiRequest;
  readonly status: number;
}

export interface ResourceKind {
  readonly name: string;
  readonly cluster: ClusterName;
  /** The number of workers. Each has its own keys. */
  readonly workers: number;
  readonly keysPerWorker: number;
  key(worker: number, slot: number): string;
  /** Returns the value of a worker's n-th write. It differs from the one before. */
  value(n: number): string;
  put(key: string, value: string, id: string | undefined): ApiRequest;
  delete(key: string, id: string | undefined): ApiRequest;
  /** Returns undefined if the request needs an ID and `id` is undefined. */
  read(key: string, id: string | undefined): ApiRequest | undefined;
  /** Parses the response to `read`, which may be a 404. */
  parseRead(response: Answer, key: string): Observation;
  /** Lists the resources of the worker, possibly with others. */
  list(worker: number): ApiRequest;
  /** Returns the resources by key, without those that no worker wrote. A repeated key has the value DUPLICATE. */
  parseList(response: Answer): ReadonlyMap<string, Observation>;
  /** Whether the response to `put` has the same format as the response to `read`. */
  readonly putReturnsResource: boolean;
  invalidRequests(key: string, id: string | undefined): readonly InvalidRequest[];
  readonly supportsBlockingQueries: boolean;
  /** Whether this rejection of a valid write is correct, because an earlier operation is still in progress. */
  isBusy?(text: string): boolean;
  /** Whether the other cluster imports the resources. Its workers are paused while both clusters are compared. */
  readonly isExported?: boolean;
}

/** A value that no write produces. */
export const DUPLICATE = 'duplicate';

/** Collects the resources of a list by key. A repeated key has the value DUPLICATE. */
export function byKey(
  entries: Iterable<readonly [key: string, observed: Observation] | undefined>,
): ReadonlyMap<string, Observation> {
  const collected = new Map<string, Observation>();
  for (const entry of entries) {
    if (entry === undefined) continue;
    const [key, observed] = entry;
    collected.set(key, collected.has(key) ? { value: DUPLICATE } : observed);
  }
  return collected;
}
