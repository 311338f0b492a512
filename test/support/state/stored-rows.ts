/** Reads stored rows of a cluster from its export, for fields that the peering API does not return. Omits secrets. */
import assert from 'node:assert/strict';
import type { Cluster } from '../peering/clusters.ts';

/** Returns the rows of one table. */
export async function storedRows<T>(cluster: Cluster, table: string): Promise<T[]> {
  const { status, text } = await cluster.request('GET', '/v1/operator/export');
  assert.equal(status, 200, text);
  const lines = text.trimEnd().split('\n');
  const rows = lines.map((line) => JSON.parse(line) as { table?: string; value: string });
  return rows
    .filter((row) => row.table === table)
    .map(({ value }) => (JSON.parse(value) as [...unknown[], T]).at(-1) as T);
}

/** Returns the CA roots that a cluster trusts for its only peer, sorted; empty if it has no trust bundle. */
export async function trustedRoots(cluster: Cluster): Promise<string[]> {
  const bundles = await storedRows<{ roots: readonly string[] }>(cluster, 'trust-bundles');
  assert.ok(bundles.length <= 1, `${bundles.length} trust bundles of one peer`);
  return (bundles[0]?.roots ?? []).toSorted();
}

/** Returns the CA roots that a cluster sends to its peers, sorted. */
export async function announcedRoots(cluster: Cluster): Promise<string[]> {
  const { status, text, json } = await cluster.request('GET', '/v1/operator/ca');
  assert.equal(status, 200, text);
  const { Roots } = json<{ Roots: readonly { PEM: string }[] }>();
  return Roots.map(({ PEM }) => PEM).toSorted();
}

/** Returns the stream epoch of a cluster's only peering. */
export async function streamEpoch(cluster: Cluster): Promise<number> {
  const [row] = await storedRows<{ epoch: number }>(cluster, 'peerings');
  assert.ok(row, 'the cluster has no peering');
  return row.epoch;
}
