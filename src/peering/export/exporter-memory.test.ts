import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deregistered, registered } from '../../../test/support/peering/catalog.ts';
import { exporting, written } from '../../../test/support/peering/entries.ts';
import { lateState, startExporter } from '../../../test/support/peering/exporting.ts';
import { startApi } from '../../../test/support/process/api.ts';
import { until } from '../../../test/support/until.ts';

test('the exporter remembers nothing of services that were deregistered, and read before it looked at them', async () => {
  await using api = await startApi();
  await written(api, exporting({ '*': ['east'] }));
  const names = ['db', 'search', 'web'];
  for (const Service of names) await registered(api, { Service: { Service } });
  const late = lateState(api.state);
  await using exporter = startExporter(late.state);
  const told = { listChanged: () => undefined, serviceChanged: () => undefined };
  const east = exporter.follow({ partition: 'default', peerName: 'east' }, told);
  for (const name of names) assert.ok(east.content(name));
  assert.equal(exporter.remembered, names.length);
  await deregistered(api, { Node: 'n1' });
  for (const name of names) assert.equal(east.content(name), undefined);
  late.release();
  await until('nothing is remembered', () => exporter.remembered === 0);
  assert.deepEqual(east.names(), []);
});
