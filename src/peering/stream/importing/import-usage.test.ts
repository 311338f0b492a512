import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { importedInstance } from '../../../../test/support/peering/catalog-requests.ts';
import { type Amount, amountFor, createImportUsage } from './import-usage.ts';

const MOST: Amount = { services: 2, instances: 3, bytes: 100 };
const NONE = amountFor(undefined);
const of = (instances: number, bytes: number): Amount => ({ services: 1, instances, bytes });
const row = (service: string, bytes: number) => ({
  peeringId: 'p',
  service,
  contentHash: '',
  instances: [importedInstance(service, 'n')],
  bytes,
});

describe('import usage', () => {
  it('is limited in services, instances and bytes, and the error names the limit [SVC-83] [STREAM-66]', () => {
    const usage = createImportUsage([row('a', 10)], MOST);
    usage.replace(NONE, of(1, 10));
    for (const [after, what] of [
      [
        of(0, 0),
        'imported-services: at most 2 services are accepted from a peer, and this service would raise the total to 3',
      ],
      [{ ...of(2, 0), services: 0 }, 'imported-instances: at most 3 '],
      [{ ...of(0, 81), services: 0 }, 'imported-bytes: at most 100 '],
    ] as const) {
      assert.throws(() => usage.replace(NONE, after), new RegExp(`^ApplyRefused: limit ${what}`));
    }
  });

  it('does not count a replaced service', () => {
    const usage = createImportUsage([row('a', 90), row('b', 10)], MOST);
    usage.replace(of(1, 90), of(2, 80));
    usage.replace(of(2, 80), NONE);
    usage.replace(NONE, of(2, 90));
    assert.throws(() => usage.replace(of(2, 90), of(2, 91)), /imported-bytes/);
  });

  it('is restored by undo', () => {
    const usage = createImportUsage([], MOST);
    const undo = usage.replace(NONE, of(3, 100));
    undo();
    usage.replace(NONE, of(3, 100));
  });

  it('can decrease while it exceeds a limit', () => {
    const usage = createImportUsage([row('a', 200), row('b', 50)], MOST);
    usage.replace(of(1, 50), of(1, 40));
    assert.throws(() => usage.replace(of(1, 40), of(1, 41)), /imported-bytes/);
  });
});
