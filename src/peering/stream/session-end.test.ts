import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Code } from '@connectrpc/connect';
import type { SessionEnd } from './contract.ts';
import { closeStatus, endReason } from './session-end.ts';

const status = { code: Code.PermissionDenied, message: 'invalid peering stream secret' };

/** Every kind of end with its text and the code that the peer receives. */
const ENDS: readonly (readonly [SessionEnd, string, Code | undefined])[] = [
  [{ kind: 'terminated-by-peer' }, 'the peering was deleted by the other cluster', undefined],
  [{ kind: 'terminated-here' }, 'the peering was deleted here', Code.Aborted],
  [{ kind: 'timed-out', reason: 'heartbeat timeout' }, 'heartbeat timeout', Code.DeadlineExceeded],
  [{ kind: 'timed-out', reason: 'handshake timeout' }, 'handshake timeout', Code.DeadlineExceeded],
  [{ kind: 'timed-out', reason: 'apply timeout' }, 'apply timeout', Code.Unavailable],
  [{ kind: 'refused', status }, 'refused: PermissionDenied: invalid peering stream secret', Code.PermissionDenied],
  [
    { kind: 'closed-by-peer', status: { code: undefined, message: '' } },
    'closed by the other cluster: stream closed',
    undefined,
  ],
  [{ kind: 'transport-failed', message: 'reset' }, 'connection lost: reset', undefined],
  [
    { kind: 'protocol-error', status: { code: Code.InvalidArgument, message: 'no Open' } },
    'protocol error: no Open',
    Code.InvalidArgument,
  ],
  [{ kind: 'stopped', reason: 'shutdown' }, 'the server is shutting down', Code.Unavailable],
  [{ kind: 'stopped', reason: 'superseded' }, 'superseded by a newer stream', Code.Aborted],
  [
    { kind: 'limit', limit: 'transport-stalled' },
    'limit transport-stalled: the peer accepts no messages',
    Code.ResourceExhausted,
  ],
  [{ kind: 'failed', error: new Error('a secret') }, 'internal error', Code.Internal],
];

test('endReason and closeStatus cover every kind of end [STREAM-85] [STREAM-86]', () => {
  for (const [end, reason, code] of ENDS) assert.deepEqual([endReason(end), closeStatus(end).code], [reason, code]);
});
