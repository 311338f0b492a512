import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DeepReadonly } from '../../state/table.ts';
import {
  type Authority,
  announceRoot,
  type CertificateAuthority,
  type IssuedCertificate,
  newAuthority,
  nextStep,
  renewalTimeMs,
  replaceServerCertificate,
  retireRoot,
  revertRotation,
  switchRoot,
  trustedRoots,
} from './authority.ts';
import {
  ANNOUNCED_CHECK_INTERVAL_MS,
  ANNOUNCED_MS,
  CHECK_INTERVAL_MS,
  ROTATE_BEFORE_EXPIRY_MS,
  SWITCHED_MS,
} from './limits.ts';

const HOUR = 60 * 60 * 1_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2030, 0, 1);
const at = (ms: number): string => new Date(START + ms).toISOString();

const issued = (name: string, days: number): IssuedCertificate => ({
  certificate: `${name}\n`,
  key: { clear: `key of ${name}` },
  fingerprint: name,
  notBefore: at(0),
  notAfter: at(days * DAY),
});
const authority = (id: string): Authority => ({
  id,
  root: issued(`root ${id}`, 3650),
  server: issued(`server ${id}`, 90),
});

type Row = DeepReadonly<CertificateAuthority>;
/** Asserts that a transition was allowed. */
const allowed = (row: Row | undefined): Row => row ?? assert.fail('the transition is not allowed');

const stable = newAuthority(authority('one'));
const inAnnounced = allowed(announceRoot(stable, authority('two'), at(0)));
const inSwitched = allowed(switchRoot(inAnnounced, at(HOUR)));
const finished = allowed(retireRoot(inSwitched, at(2 * HOUR)));

describe('rotation', () => {
  test('trusts both roots while it serves the old one, then the new one, then trusts only the new one [PEER-86]', () => {
    const seen = [stable, inAnnounced, inSwitched, finished].map((row) => [row.current.id, ...trustedRoots(row)]);
    assert.deepEqual(seen, [
      ['one', 'root one\n'],
      ['one', 'root one\n', 'root two\n'],
      ['two', 'root two\n', 'root one\n'],
      ['two', 'root two\n'],
    ]);
  });

  test('deletes the keys of the old root and records its ID', () => {
    assert.doesNotMatch(JSON.stringify(finished), /key of (root|server) one/);
    assert.deepEqual(finished.retired, { id: 'one', time: at(2 * HOUR) });
  });

  test('can be reverted from both stages [PEER-89]', () => {
    assert.deepEqual(revertRotation(inAnnounced), stable);
    assert.deepEqual(revertRotation(inSwitched), stable);
  });

  test('allows each transition only in its own stage', () => {
    const steps: readonly (readonly [name: string, step: (row: Row) => Row | undefined, from: Row[]])[] = [
      ['announced', (row) => announceRoot(row, authority('three'), at(0)), [stable, finished]],
      ['switched', (row) => switchRoot(row, at(0)), [inAnnounced]],
      ['retired', (row) => retireRoot(row, at(0)), [inSwitched]],
      ['rotatedBack', revertRotation, [inAnnounced, inSwitched]],
    ];
    for (const [name, step, from] of steps) {
      const possible = [stable, inAnnounced, inSwitched, finished].filter((row) => step(row) !== undefined);
      assert.deepEqual(possible, from, name);
    }
  });

  test('replaces the server certificate only under the served root', () => {
    const renewed = issued('renewed', 90);
    assert.equal(replaceServerCertificate(inAnnounced, 'one', renewed)?.current.server, renewed);
    assert.equal(replaceServerCertificate(inSwitched, 'one', renewed), undefined);
  });
});

describe('nextStep', () => {
  const lastYearMs = 3650 * DAY - ROTATE_BEFORE_EXPIRY_MS;
  /** Returns the row with a server certificate that is not due for renewal. */
  const fresh = (row: Row): Row => ({
    ...row,
    current: { ...row.current, server: { ...row.current.server, notAfter: at(36_500 * DAY) } },
  });
  const cases: readonly (readonly [name: string, row: Row, peers: number, ms: number, step: unknown])[] = [
    ['waits when nothing is due', stable, 0, 0, { action: 'wait', ms: CHECK_INTERVAL_MS }],
    ['waits just before two thirds of 90 days', stable, 0, 60 * DAY - 1, { action: 'wait', ms: CHECK_INTERVAL_MS }],
    ['renews after two thirds of 90 days [PEER-85]', stable, 0, 60 * DAY, { action: 'renew' }],
    ['renews before any other step', inAnnounced, 0, 60 * DAY, { action: 'renew' }],
    [
      'waits just before the last year of the root',
      fresh(stable),
      0,
      lastYearMs - 1,
      { action: 'wait', ms: CHECK_INTERVAL_MS },
    ],
    ['rotates in the last year of the root [PEER-85]', fresh(stable), 0, lastYearMs, { action: 'rotate' }],
    ['waits for an unacknowledged peer', inAnnounced, 1, 0, { action: 'wait', ms: ANNOUNCED_CHECK_INTERVAL_MS }],
    ['switches when every peer has acknowledged', inAnnounced, 0, 0, { action: 'switch' }],
    [
      'waits just before ANNOUNCED times out',
      inAnnounced,
      1,
      ANNOUNCED_MS - 1,
      { action: 'wait', ms: ANNOUNCED_CHECK_INTERVAL_MS },
    ],
    ['switches when ANNOUNCED times out', inAnnounced, 1, ANNOUNCED_MS, { action: 'switch' }],
    ['waits while SWITCHED lasts', inSwitched, 0, HOUR, { action: 'wait', ms: CHECK_INTERVAL_MS }],
    ['retires the old root when SWITCHED ends', inSwitched, 0, HOUR + SWITCHED_MS, { action: 'retire' }],
  ];
  for (const [name, row, peers, ms, step] of cases) {
    test(name, () => assert.deepEqual(nextStep(row, peers, START + ms), step));
  }

  test('computes a renewal after two thirds of the lifetime', () => {
    assert.equal(renewalTimeMs(issued('x', 90)), START + 60 * DAY);
  });
});
