import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { peerVersionProblem } from './peer-version.ts';

describe('peerVersionProblem', () => {
  for (const theirs of [null, undefined, '1.13.0', 'v1.13.0', '1.13.1', '1.14.0-rc.1', '2.0.0', '10.0.0']) {
    it(`accepts ${theirs} [STREAM-11] [STREAM-12]`, () =>
      assert.equal(peerVersionProblem(theirs, '1.13.0'), undefined));
  }

  for (const theirs of ['1.12.99', '0.99.0', '1.9.0', '', '1.13', 'latest', '-1.13.0', '99']) {
    it(`rejects ${JSON.stringify(theirs)} and names both versions [STREAM-11]`, () => {
      const problem = peerVersionProblem(theirs, '1.15.2');
      assert.equal(problem, `the peer runs Accord ${theirs}, this cluster 1.15.2: want at least 1.13.0 on both sides`);
    });
  }

  it('truncates a long version', () => {
    assert.ok((peerVersionProblem('x'.repeat(60_000), '1.13.0') ?? '').length < 200);
  });
});
