import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mustDeregister, mustRegister } from '../../../test/support/peering/catalog-requests.ts';
import { exportEntry, mustWrite } from '../../../test/support/peering/config-entry-requests.ts';
import { delayedState, startExporter } from '../../../test/support/peering/test-exporter.ts';
import { startApi } from '../../../test/support/process/api.ts';
import { until } from '../../../test/support/until.ts';

test('the exporter frees services that were read and deregistered before it processed the change', async () => {
  await using api = await startApi();
  await mustWrite(api, exportEntry({ '*': ['east'] }));
  const names = ['db', 'search', 'web'];
  for (const Service of names) await mustRegister(api, { Service: { Service } });
  const late = delayedState(api.state);
  await using exporter = startExporter(late.state);
  const listener = { listChanged: () => undefined, serviceChanged: () => undefined };
  const east = exporter.subscribe({ partition: 'default', peerName: 'east' }, listener);
  for (const name of names) assert.ok(east.payload(name));
  assert.equal(exporter.announcedCount, names.length);
  await mustDeregister(api, { Node: 'n1' });
  for (const name of names) assert.equal(east.payload(name), undefined);
  late.release();
  await until('every payload is freed', () => exporter.announcedCount === 0);
  assert.deepEqual(east.names(), []);
});
