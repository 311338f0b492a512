import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DeepReadonly } from '../../state/table.ts';
import {
  type Authority,
  announced,
  bundleOf,
  type CertificateAuthority,
  type Issued,
  newAuthority,
  nextStep,
  renewalMs,
  retired,
  rotatedBack,
  serverRenewed,
  switched,
} from './authority.ts';
import { ANNOUNCED_MS, CHECK_ANNOUNCED_MS, CHECK_MS, ROOT_LEFT_MS, SWITCHED_MS } from './limits.ts';

const HOUR = 60 * 60 * 1_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2030, 0, 1);
const at = (ms: number): string => new Date(START + ms).toISOString();

const issued = (what: string, days: number): Issued => ({
  certificate: `${what}\n`,
  key: { clear: `key of ${what}` },
  fingerprint: what,
  notBefore: at(0),
  notAfter: at(days * DAY),
});
const authority = (id: string): Authority => ({
  id,
  root: issued(`root ${id}`, 3650),
  server: issued(`server ${id}`, 90),
});

type Row = DeepReadonly<CertificateAuthority>;
/** A transition that the test knows to be possible. */
const sure = (row: Row | undefined): Row => row ?? assert.fail('nothing may change');

const stable = newAuthority(authority('one'));
const inAnnounced = sure(announced(stable, authority('two'), at(0)));
const inSwitched = sure(switched(inAnnounced, at(HOUR)));
const afterwards = sure(retired(inSwitched, at(2 * HOUR)));

describe('a rotation', () => {
  test('first trusts both roots and serves the old one, then the new one, then trusts that alone', () => {
    const seen = [stable, inAnnounced, inSwitched, afterwards].map((row) => [row.current.id, ...bundleOf(row)]);
    assert.deepEqual(seen, [
      ['one', 'root one\n'],
      ['one', 'root one\n', 'root two\n'],
      ['two', 'root two\n', 'root one\n'],
      ['two', 'root two\n'],
    ]);
  });

  test('leaves no key of the retired root, and says which it was', () => {
    assert.doesNotMatch(JSON.stringify(afterwards), /key of (root|server) one/);
    assert.deepEqual(afterwards.retired, { id: 'one', time: at(2 * HOUR) });
  });

  test('goes back from both stages to what was before', () => {
    assert.deepEqual(rotatedBack(inAnnounced), stable);
    assert.deepEqual(rotatedBack(inSwitched), stable);
  });

  test('takes every step from its own stage only', () => {
    const steps: readonly (readonly [name: string, step: (row: Row) => Row | undefined, from: Row[]])[] = [
      ['announced', (row) => announced(row, authority('three'), at(0)), [stable, afterwards]],
      ['switched', (row) => switched(row, at(0)), [inAnnounced]],
      ['retired', (row) => retired(row, at(0)), [inSwitched]],
      ['rotatedBack', rotatedBack, [inAnnounced, inSwitched]],
    ];
    for (const [name, step, from] of steps) {
      const possible = [stable, inAnnounced, inSwitched, afterwards].filter((row) => step(row) !== undefined);
      assert.deepEqual(possible, from, name);
    }
  });

  test('a renewed server certificate is that of the served root, or of nobody', () => {
    const renewed = issued('renewed', 90);
    assert.equal(serverRenewed(inAnnounced, 'one', renewed)?.current.server, renewed);
    assert.equal(serverRenewed(inSwitched, 'one', renewed), undefined);
  });
});

describe('the next step', () => {
  const lastYearMs = 3650 * DAY - ROOT_LEFT_MS;
  /** With a server certificate that is not due then. */
  const fresh = (row: Row): Row => ({
    ...row,
    current: { ...row.current, server: { ...row.current.server, notAfter: at(36_500 * DAY) } },
  });
  const cases: readonly (readonly [what: string, row: Row, peers: number, ms: number, step: unknown])[] = [
    ['nothing is due', stable, 0, 0, { action: 'wait', ms: CHECK_MS }],
    ['just before two thirds of 90 days', stable, 0, 60 * DAY - 1, { action: 'wait', ms: CHECK_MS }],
    ['after two thirds of 90 days', stable, 0, 60 * DAY, { action: 'renew' }],
    ['a renewal comes before all else', inAnnounced, 0, 60 * DAY, { action: 'renew' }],
    ['just before the last year of the root', fresh(stable), 0, lastYearMs - 1, { action: 'wait', ms: CHECK_MS }],
    ['in the last year of the root', fresh(stable), 0, lastYearMs, { action: 'rotate' }],
    ['a peer is waited for', inAnnounced, 1, 0, { action: 'wait', ms: CHECK_ANNOUNCED_MS }],
    ['no peer is waited for', inAnnounced, 0, 0, { action: 'switch' }],
    ['just before the announcement ends', inAnnounced, 1, ANNOUNCED_MS - 1, { action: 'wait', ms: CHECK_ANNOUNCED_MS }],
    ['the announcement ends', inAnnounced, 1, ANNOUNCED_MS, { action: 'switch' }],
    ['the new root is served', inSwitched, 0, HOUR, { action: 'wait', ms: CHECK_MS }],
    ['it has been for long enough', inSwitched, 0, HOUR + SWITCHED_MS, { action: 'retire' }],
  ];
  for (const [what, row, peers, ms, step] of cases) {
    test(what, () => assert.deepEqual(nextStep(row, peers, START + ms), step));
  }

  test('a renewal is due after two thirds of a life', () => {
    assert.equal(renewalMs(issued('x', 90)), START + 60 * DAY);
  });
});
