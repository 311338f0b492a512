import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { DeadlineError } from '../../../clock/deadline.ts';
import { isStateError } from '../../../errors.ts';
import { type FailureKind, failureKind, toStateError } from './failures.ts';

const CASES: readonly (readonly [string, Code, FailureKind])[] = [
  ['etcdserver: mvcc: database space exceeded', Code.ResourceExhausted, 'no-space'],
  ['etcdserver: too many operations in txn request', Code.InvalidArgument, 'too-large'],
  ['etcdserver: request is too large', Code.InvalidArgument, 'too-large'],
  ['grpc: received message larger than max (5242923 vs. 2097152)', Code.ResourceExhausted, 'too-large'],
  ['etcdserver: mvcc: required revision has been compacted', Code.OutOfRange, 'compacted'],
  ['etcdserver: mvcc: required revision is a future revision', Code.OutOfRange, 'future'],
  ['etcdserver: requested lease not found', Code.NotFound, 'lease-gone'],
  ['etcdserver: invalid auth token', Code.Unauthenticated, 'unauthenticated'],
  ['etcdserver: permission denied', Code.PermissionDenied, 'rejected'],
  ['etcdserver: authentication failed, invalid user ID or password', Code.InvalidArgument, 'rejected'],
  // An error is ambiguous unless it proves that the request was not applied.
  ['etcdserver: leader changed', Code.Unavailable, 'unreachable'],
  ['etcdserver: request timed out', Code.Unavailable, 'unreachable'],
  ['etcdserver: too many requests', Code.ResourceExhausted, 'unreachable'],
  ['http/2 stream closed with error code CANCEL (0x8)', Code.Canceled, 'unreachable'],
  ['read ECONNRESET', Code.Aborted, 'unreachable'],
  ['permission denied', Code.PermissionDenied, 'unreachable'],
  ['protocol error: missing status', Code.Internal, 'unreachable'],
];

for (const [message, code, kind] of CASES) {
  test(`failureKind returns ${kind} for "${message}" (${Code[code]}) [ETCD-12]`, () => {
    assert.equal(failureKind(new ConnectError(message, code)), kind);
  });
}

test('an exceeded deadline is unreachable, and becomes the StateError unavailable [ETCD-12] [ETCD-14]', () => {
  const error = new DeadlineError('no answer within 2000 ms');
  assert.equal(failureKind(error), 'unreachable');
  assert.ok(isStateError(toStateError(error), 'unavailable'));
});

test('toStateError returns an error that no call caused unchanged', () => {
  const error = new TypeError('a page could not be parsed');
  assert.equal(toStateError(error), error);
});
