import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { deregistered, registered } from '../../../test/support/peering/catalog.ts';
import { exporting, written } from '../../../test/support/peering/entries.ts';
import { startExporter, type TestExporter } from '../../../test/support/peering/exporting.ts';
import { generated, record } from '../../../test/support/peering/peering.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import { until } from '../../../test/support/until.ts';
import { createLog } from '../../http/telemetry/log.ts';
import { systemClock } from '../../state/clock/clock.ts';
import { peerings, terminatedByPeer } from '../record/record.ts';
import { exportedRecordsJob } from './exported-names-job.ts';

let api: Api;
let exporter: TestExporter;
let endJob: () => void;
beforeEach(async () => {
  api = await startApi();
  exporter = startExporter(api.state);
  const log = createLog({ level: 'error', format: 'json' });
  endJob = api.state.addJob(exportedRecordsJob({ state: api.state, exporter, clock: systemClock, log }));
});
afterEach(async () => {
  endJob();
  await exporter[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});

const exported = async (name: string): Promise<string> =>
  (await record(api, name)).StreamStatus.ExportedServices.join();

const untilExported = (name: string, names: string): Promise<void> =>
  until(`${name} is shown to get ${names}`, async () => (await exported(name)) === names);

test('a record says what is exported although no stream lives, in either order of being made', async () => {
  await registered(api);
  await written(api, exporting({ web: ['east'], db: ['east', 'west'] }));
  await generated(api, 'east');
  await untilExported('east', 'web');
  await generated(api, 'west');
  await registered(api, { Service: { Service: 'db' } });
  await untilExported('east', 'db,web');
  await untilExported('west', 'db');
  await deregistered(api, { Node: 'n1', ServiceID: 'db' });
  await untilExported('west', '');
  await untilExported('east', 'web');
});

test('a record is written when its names change, and not when services do', async () => {
  await registered(api);
  await written(api, exporting({ web: ['east'], db: ['west'] }));
  await generated(api, 'east');
  await generated(api, 'west');
  await untilExported('east', 'web');
  const before = await record(api, 'east');
  await registered(api, { Service: { Service: 'web', Port: 81 } });
  await registered(api, { Service: { Service: 'db' } });
  await untilExported('west', 'db');
  assert.deepEqual(await record(api, 'east'), before);
});

test('a TERMINATED record says nothing, and is told again when it begins anew', async () => {
  await registered(api);
  await written(api, exporting({ web: ['east'] }));
  await generated(api, 'east');
  await untilExported('east', 'web');
  const set = (state: 'TERMINATED' | 'INITIAL'): Promise<void> =>
    api.state.write((tx) => {
      const [stored] = tx.all(peerings);
      assert.ok(stored);
      const next = state === 'INITIAL' ? { ...stored.row, state } : terminatedByPeer(stored.row);
      if (next !== undefined) tx.put(peerings, next);
    });
  await set('TERMINATED');
  assert.equal(await exported('east'), '');
  await registered(api, { Service: { Service: 'web', Port: 81 } });
  assert.equal(await exported('east'), '');
  await set('INITIAL');
  await untilExported('east', 'web');
});
