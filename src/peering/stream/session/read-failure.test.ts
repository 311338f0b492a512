import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { readFailure, statusError } from './read-failure.ts';

describe('readFailure', () => {
  it('reports `closed` for an error from the wire', () => {
    const error = new ConnectError('gone', Code.Aborted);
    error.isWireError = true;
    assert.deepEqual(readFailure(error), { type: 'closed', status: { code: Code.Aborted, message: 'gone' } });
  });

  it('reports `undecodable` for decoding errors of Connect', () => {
    for (const code of [Code.InvalidArgument, Code.DataLoss, Code.ResourceExhausted]) {
      assert.deepEqual(readFailure(new ConnectError('bad', code)), {
        type: 'undecodable',
        status: { code, message: 'bad' },
      });
    }
  });

  it('reports `failed` for other errors', () => {
    const lost = { type: 'failed', message: 'reset' };
    assert.deepEqual(readFailure(new ConnectError('reset', Code.Unavailable)), lost);
    assert.deepEqual(readFailure(new Error('reset')), lost);
    assert.deepEqual(readFailure('reset'), lost);
  });
});

test('statusError returns undefined for a status without a code', () => {
  assert.equal(statusError({ code: undefined, message: '' }), undefined);
});
