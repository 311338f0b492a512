import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { DeadlineError } from '../../state/clock/deadline.ts';
import { connectFailureReason, knownFailureReason } from './connect-failure.ts';

const withCode = (code: string, message = 'whatever'): Error => Object.assign(new Error(message), { code });
/** A failed call, with the error of Node.js as its cause. */
const wrapped = (cause: Error): ConnectError =>
  new ConnectError(cause.message, Code.Internal, undefined, undefined, cause);

describe('connectFailureReason', () => {
  const KNOWN: Readonly<Record<string, string>> = {
    ECONNREFUSED: 'connection refused',
    ENOTFOUND: 'no such host',
    CERT_HAS_EXPIRED: 'its certificate has expired',
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not signed by the cluster that generated the token',
    ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another server name',
    ERR_HTTP2_ERROR: 'it does not speak HTTP/2',
    ERR_STREAM_PREMATURE_CLOSE: 'closed unexpectedly',
  };
  for (const [code, words] of Object.entries(KNOWN)) {
    it(`returns "${words}" for ${code} at any depth of causes`, () => {
      assert.equal(connectFailureReason(wrapped(withCode(code))), words);
      assert.equal(connectFailureReason(wrapped(new Error('outer', { cause: withCode(code) }))), words);
      assert.equal(
        connectFailureReason(wrapped(new AggregateError([withCode(code), new Error('other')], 'both'))),
        words,
      );
    });
  }

  it('returns the HTTP/2 error of a reset stream', () => {
    const reset = (name: string): ConnectError =>
      new ConnectError(`http/2 stream closed with error code ${name} (0x8)`, Code.Canceled);
    assert.equal(connectFailureReason(reset('CANCEL')), 'closed unexpectedly');
    assert.equal(connectFailureReason(reset('INTERNAL_ERROR')), 'stream reset with the HTTP/2 error INTERNAL_ERROR');
    // An error from the wire may have the same text, but comes from the peer.
    const error = reset('CANCEL');
    error.isWireError = true;
    assert.match(connectFailureReason(error), /^Canceled: http/);
  });

  it('returns "no answer in time" for a deadline', () => {
    assert.equal(connectFailureReason(wrapped(new DeadlineError('too late'))), 'no answer in time');
  });

  it('returns the message of the peer in one bounded line [STREAM-44]', () => {
    assert.equal(connectFailureReason(new ConnectError('not now', Code.Unavailable)), 'Unavailable: not now');
    const error = new ConnectError('a\r\nb\u001b[2J\u202ec', Code.Unknown);
    assert.equal(connectFailureReason(error), 'Unknown: a  b [2J c');
    assert.equal(connectFailureReason(new ConnectError('x'.repeat(60_000), Code.Unknown)).length, 1_024);
  });

  it('stops at a cycle of causes', () => {
    const loop = new Error('loop');
    loop.cause = loop;
    assert.equal(knownFailureReason(loop), undefined);
    assert.equal(connectFailureReason(loop), 'Unknown: loop');
  });
});
