/** Follows a peering's record by blocking queries, as a user's script does. */
import assert from 'node:assert/strict';
import { until } from '../until.ts';
import type { Cluster, ShownRecord } from './clusters.ts';

export interface RecordWatch {
  /** What each query was answered with, in order; an answer that only says that nothing has changed is left out. */
  readonly seen: readonly ShownRecord[];
  /** Waits until the query was woken for the last change. @throws AssertionError when an index did not grow */
  end(): Promise<void>;
}

/** Begins with the record of now, which must be there. */
export function watchRecord(cluster: Cluster, name: string): RecordWatch {
  const seen: ShownRecord[] = [];
  const ending = new AbortController();
  const lastIndex = (): number => seen.at(-1)?.ModifyIndex ?? 0;
  const follow = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const query = `/v1/peering/${name}?wait=1m&index=${lastIndex()}`;
      const answer = await cluster.request('GET', query, { signal: ending.signal });
      assert.equal(answer.status, 200, answer.text);
      const record = answer.json<ShownRecord>();
      if (record.ModifyIndex !== lastIndex()) seen.push(record);
    }
  };
  const following = follow().catch((error: unknown) => (ending.signal.aborted ? undefined : error));
  return {
    seen,
    async end() {
      const { ModifyIndex } = (await cluster.record(name)) ?? { ModifyIndex: 0 };
      // The wait of a minute is longer than this one: only a query that is woken gets here.
      await until(`the query was woken for ${ModifyIndex}`, () => lastIndex() >= ModifyIndex).finally(() =>
        ending.abort(),
      );
      const failure = await following;
      if (failure !== undefined) throw failure;
      for (const [i, { ModifyIndex: index }] of seen.entries()) {
        assert.ok(i === 0 || index > (seen[i - 1]?.ModifyIndex ?? 0), `${name}: ${index} follows a later index`);
      }
    },
  };
}

/** States in the order in which they were seen, `FAILING` for INITIAL with a reason; each run of one state once. */
export function statesOf(seen: readonly ShownRecord[]): string[] {
  const states = seen.map(({ State, Failing }) => (Failing === undefined ? State : 'FAILING'));
  return states.filter((state, i) => state !== states[i - 1]);
}
