import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { readFailure, statusError } from './read-failure.ts';

suite('a stream that fails', () => {
  test('was closed when the other side said so', () => {
    const error = new ConnectError('gone', Code.Aborted);
    error.isWireError = true;
    assert.deepEqual(readFailure(error), { type: 'closed', status: { code: Code.Aborted, message: 'gone' } });
  });

  test('was not understood when Connect could not decode it', () => {
    for (const code of [Code.InvalidArgument, Code.DataLoss, Code.ResourceExhausted]) {
      assert.deepEqual(readFailure(new ConnectError('bad', code)), {
        type: 'undecodable',
        status: { code, message: 'bad' },
      });
    }
  });

  test('was lost otherwise', () => {
    const lost = { type: 'failed', message: 'reset' };
    assert.deepEqual(readFailure(new ConnectError('reset', Code.Unavailable)), lost);
    assert.deepEqual(readFailure(new Error('reset')), lost);
    assert.deepEqual(readFailure('reset'), lost);
  });
});

test('a status without a code is no error', () => {
  assert.equal(statusError({ code: undefined, message: '' }), undefined);
});
