import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { imported } from '../../../../test/support/peering/catalog.ts';
import { type Amount, amountOf, createImportTally } from './import-usage.ts';

const MOST: Amount = { services: 2, instances: 3, bytes: 100 };
const NONE = amountOf(undefined);
const of = (instances: number, bytes: number): Amount => ({ services: 1, instances, bytes });
const row = (service: string, bytes: number) => ({
  peeringId: 'p',
  service,
  contentHash: '',
  instances: [imported(service, 'n')],
  bytes,
});

describe('what a peer may bring', () => {
  it('is bounded in services, instances and bytes, each by its name', () => {
    const tally = createImportTally([row('a', 10)], MOST);
    tally.replace(NONE, of(1, 10));
    for (const [after, what] of [
      [of(0, 0), 'imported-services: at most 2 services are taken from a peer, and with this service they were 3'],
      [{ ...of(2, 0), services: 0 }, 'imported-instances: at most 3 '],
      [{ ...of(0, 81), services: 0 }, 'imported-bytes: at most 100 '],
    ] as const) {
      assert.throws(() => tally.replace(NONE, after), new RegExp(`^ApplyRefused: limit ${what}`));
    }
  });

  it('counts what is replaced no more', () => {
    const tally = createImportTally([row('a', 90), row('b', 10)], MOST);
    tally.replace(of(1, 90), of(2, 80));
    tally.replace(of(2, 80), NONE);
    tally.replace(NONE, of(2, 90));
    assert.throws(() => tally.replace(of(2, 90), of(2, 91)), /imported-bytes/);
  });

  it('is counted as before when it could not be written', () => {
    const tally = createImportTally([], MOST);
    const undo = tally.replace(NONE, of(3, 100));
    undo();
    tally.replace(NONE, of(3, 100));
  });

  it('may become less while it is too much', () => {
    const tally = createImportTally([row('a', 200), row('b', 50)], MOST);
    tally.replace(of(1, 50), of(1, 40));
    assert.throws(() => tally.replace(of(1, 40), of(1, 41)), /imported-bytes/);
  });
});
