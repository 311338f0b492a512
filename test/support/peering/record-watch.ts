/** Follows a peering record with blocking queries. */
import assert from 'node:assert/strict';
import { until } from '../until.ts';
import type { Cluster, RecordJson } from './clusters.ts';

export interface RecordWatch {
  /** The answers in order, without those that show no change. */
  readonly records: readonly RecordJson[];
  /** Waits for the answer with the last change, then stops. @throws AssertionError when an index did not increase */
  verify(): Promise<void>;
}

/** Starts with the current record, which must exist. */
export function watchRecord(cluster: Cluster, name: string): RecordWatch {
  const records: RecordJson[] = [];
  const ending = new AbortController();
  const lastIndex = (): number => records.at(-1)?.ModifyIndex ?? 0;
  const follow = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const query = `/v1/peering/${name}?wait=1m&index=${lastIndex()}`;
      const answer = await cluster.request('GET', query, { signal: ending.signal });
      assert.equal(answer.status, 200, answer.text);
      const record = answer.json<RecordJson>();
      if (record.ModifyIndex !== lastIndex()) records.push(record);
    }
  };
  const following = follow().catch((error: unknown) => (ending.signal.aborted ? undefined : error));
  return {
    records,
    async verify() {
      const { ModifyIndex } = (await cluster.record(name)) ?? { ModifyIndex: 0 };
      // `until` waits less than the minute of the query, so only a query that is woken answers in time.
      await until(`the query was woken for ${ModifyIndex}`, () => lastIndex() >= ModifyIndex).finally(() =>
        ending.abort(),
      );
      const failure = await following;
      if (failure !== undefined) throw failure;
      for (const [i, { ModifyIndex: index }] of records.entries()) {
        assert.ok(i === 0 || index > (records[i - 1]?.ModifyIndex ?? 0), `${name}: ${index} follows a later index`);
      }
    },
  };
}

/** Returns the states in order without repetitions. `FAILING` means INITIAL with `Failing`. */
export function statesOf(records: readonly RecordJson[]): string[] {
  const states = records.map(({ State, Failing }) => (Failing === undefined ? State : 'FAILING'));
  return states.filter((state, i) => state !== states[i - 1]);
}
