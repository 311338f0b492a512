import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { DeadlineError } from '../../state/clock/deadline.ts';
import { connectFailure, knownFailure } from './connect-failure.ts';

const withCode = (code: string, message = 'whatever'): Error => Object.assign(new Error(message), { code });
/** As a call fails: with what Node.js said as the cause. */
const wrapped = (cause: Error): ConnectError =>
  new ConnectError(cause.message, Code.Internal, undefined, undefined, cause);

describe('why a peer could not be reached', () => {
  const KNOWN: Readonly<Record<string, string>> = {
    ECONNREFUSED: 'connection refused',
    ENOTFOUND: 'no such host',
    CERT_HAS_EXPIRED: 'its certificate has expired',
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not signed by the cluster that made the token',
    ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another server name',
    ERR_HTTP2_ERROR: 'it does not speak HTTP/2',
    ERR_STREAM_PREMATURE_CLOSE: 'closed without a goodbye',
  };
  for (const [code, words] of Object.entries(KNOWN)) {
    it(`is "${words}" for ${code}, however deep it lies`, () => {
      assert.equal(connectFailure(wrapped(withCode(code))), words);
      assert.equal(connectFailure(wrapped(new Error('outer', { cause: withCode(code) }))), words);
      assert.equal(connectFailure(wrapped(new AggregateError([withCode(code), new Error('other')], 'both'))), words);
    });
  }

  it('is what became of the stream, where a reset ended it', () => {
    const reset = (name: string): ConnectError =>
      new ConnectError(`http/2 stream closed with error code ${name} (0x8)`, Code.Canceled);
    assert.equal(connectFailure(reset('CANCEL')), 'closed without a goodbye');
    assert.equal(connectFailure(reset('INTERNAL_ERROR')), 'cut with the HTTP/2 error INTERNAL_ERROR');
    // The other side may say the same words: then they are its own.
    const said = reset('CANCEL');
    said.isWireError = true;
    assert.match(connectFailure(said), /^Canceled: http/);
  });

  it('is that no answer came in time when the deadline passed', () => {
    assert.equal(connectFailure(wrapped(new DeadlineError('too late'))), 'no answer in time');
  });

  it('is what the other side said, on one line that is not too long', () => {
    assert.equal(connectFailure(new ConnectError('not now', Code.Unavailable)), 'Unavailable: not now');
    const said = new ConnectError('a\r\nb\u001b[2J\u202ec', Code.Unknown);
    assert.equal(connectFailure(said), 'Unknown: a  b [2J c');
    assert.equal(connectFailure(new ConnectError('x'.repeat(60_000), Code.Unknown)).length, 1_024);
  });

  it('is not looked for without end', () => {
    const loop = new Error('loop');
    loop.cause = loop;
    assert.equal(knownFailure(loop), undefined);
    assert.equal(connectFailure(loop), 'Unknown: loop');
  });
});
