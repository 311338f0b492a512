/** A kind of thing that workers write: which requests write, remove and read it, and what their answers say about it. */
import type { Answer } from '../../test/support/process/server.ts';
import type { Ask } from '../client.ts';

export type ClusterName = 'a' | 'b';

/** What an answer says about one thing. */
export interface Seen {
  /** Its value, or ABSENT. */
  readonly value: string;
  /** What it is called in requests, where its key is not enough. */
  readonly id?: string;
  /** Its `ModifyIndex`. */
  readonly index?: number;
}

/** A request that must be refused, and changes nothing. */
export interface Refused {
  readonly ask: Ask;
  readonly status: number;
}

export interface Kind {
  readonly name: string;
  readonly cluster: ClusterName;
  /** Workers, each with keys of its own. */
  readonly workers: number;
  readonly keysPerWorker: number;
  key(worker: number, at: number): string;
  /** The value of a worker's n-th write: never the same twice in a row. */
  value(turn: number): string;
  put(key: string, value: string, id: string | undefined): Ask;
  remove(key: string, id: string | undefined): Ask;
  /** Reads one thing; undefined when its id is needed and not known. */
  read(key: string, id: string | undefined): Ask | undefined;
  /** What the answer to `read` says; 404 is an answer. */
  readOne(answer: Answer, key: string): Seen;
  /** Reads the worker's things, perhaps among others. */
  list(worker: number): Ask;
  /** By key; what no worker wrote is left out. A key that stands twice there is told with `DUPLICATE` as its value. */
  readList(answer: Answer): ReadonlyMap<string, Seen>;
  /** A `put` answers with the thing, as `read` does. */
  readonly putShows: boolean;
  /** Requests about a thing that must be refused; `id` as for the others. */
  refused(key: string, id: string | undefined): readonly Refused[];
  /** Its reads can wait. */
  readonly waits: boolean;
  /** A refusal of a valid write that is no fault: something is still under way. */
  isBusy?(text: string): boolean;
  /** Peers import it: its workers stand still while both ends are compared. */
  readonly exported?: boolean;
}

/** No write gives this value. */
const DUPLICATE = 'there twice';

/** Gathers what a list says; the same key twice is a value that nothing allows. */
export function gather(found: Iterable<readonly [key: string, seen: Seen] | undefined>): ReadonlyMap<string, Seen> {
  const gathered = new Map<string, Seen>();
  for (const each of found) {
    if (each === undefined) continue;
    const [key, seen] = each;
    gathered.set(key, gathered.has(key) ? { value: DUPLICATE } : seen);
  }
  return gathered;
}
