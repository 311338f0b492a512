import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { peerVersionProblem } from './peer-version.ts';

describe('the version of a peer', () => {
  for (const theirs of [null, undefined, '1.13.0', 'v1.13.0', '1.13.1', '1.14.0-rc.1', '2.0.0', '10.0.0']) {
    it(`may be ${theirs}`, () => assert.equal(peerVersionProblem(theirs, '1.13.0'), undefined));
  }

  for (const theirs of ['1.12.99', '0.99.0', '1.9.0', '', '1.13', 'latest', '-1.13.0', '99']) {
    it(`may not be ${JSON.stringify(theirs)}, and both are named`, () => {
      const problem = peerVersionProblem(theirs, '1.15.2');
      assert.equal(problem, `the peer runs Accord ${theirs}, this cluster 1.15.2: want at least 1.13.0 on both sides`);
    });
  }

  it('is not repeated at length', () => {
    assert.ok((peerVersionProblem('x'.repeat(60_000), '1.13.0') ?? '').length < 200);
  });
});
