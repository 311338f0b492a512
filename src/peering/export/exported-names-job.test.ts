import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { mustDeregister, mustRegister } from '../../../test/support/peering/catalog-requests.ts';
import { exportEntry, mustWrite } from '../../../test/support/peering/config-entry-requests.ts';
import { mustGenerate, mustReadRecord } from '../../../test/support/peering/peering-requests.ts';
import { startExporter, type TestExporter } from '../../../test/support/peering/test-exporter.ts';
import { type Api, startApi } from '../../../test/support/process/api.ts';
import { until } from '../../../test/support/until.ts';
import { createLog } from '../../http/telemetry/log.ts';
import { systemClock } from '../../state/clock/clock.ts';
import { peerings, terminatedByPeer } from '../record/record.ts';
import { exportedNamesJob } from './exported-names-job.ts';

let api: Api;
let exporter: TestExporter;
let endJob: () => void;
beforeEach(async () => {
  api = await startApi();
  exporter = startExporter(api.state);
  const log = createLog({ level: 'error', format: 'json' });
  endJob = api.state.addJob(exportedNamesJob({ state: api.state, exporter, clock: systemClock, log }));
});
afterEach(async () => {
  endJob();
  await exporter[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});

const exported = async (name: string): Promise<string> =>
  (await mustReadRecord(api, name)).StreamStatus.ExportedServices.join();

const untilExported = (name: string, names: string): Promise<void> =>
  until(`the record of ${name} has the exported services ${names}`, async () => (await exported(name)) === names);

test('the job sets ExportedServices without a stream, whether the entry or the peering exists first [SVC-77]', async () => {
  await mustRegister(api);
  await mustWrite(api, exportEntry({ web: ['east'], db: ['east', 'west'] }));
  await mustGenerate(api, 'east');
  await untilExported('east', 'web');
  await mustGenerate(api, 'west');
  await mustRegister(api, { Service: { Service: 'db' } });
  await untilExported('east', 'db,web');
  await untilExported('west', 'db');
  await mustDeregister(api, { Node: 'n1', ServiceID: 'db' });
  await untilExported('west', '');
  await untilExported('east', 'web');
});

test('the job writes a record when its names change, and not when its services change', async () => {
  await mustRegister(api);
  await mustWrite(api, exportEntry({ web: ['east'], db: ['west'] }));
  await mustGenerate(api, 'east');
  await mustGenerate(api, 'west');
  await untilExported('east', 'web');
  const before = await mustReadRecord(api, 'east');
  await mustRegister(api, { Service: { Service: 'web', Port: 81 } });
  await mustRegister(api, { Service: { Service: 'db' } });
  await untilExported('west', 'db');
  assert.deepEqual(await mustReadRecord(api, 'east'), before);
});

test('the job empties ExportedServices of a TERMINATED record and sets it again after INITIAL', async () => {
  await mustRegister(api);
  await mustWrite(api, exportEntry({ web: ['east'] }));
  await mustGenerate(api, 'east');
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
  await mustRegister(api, { Service: { Service: 'web', Port: 81 } });
  assert.equal(await exported('east'), '');
  await set('INITIAL');
  await untilExported('east', 'web');
});
