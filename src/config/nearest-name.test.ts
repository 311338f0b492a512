import assert from 'node:assert/strict';
import { test } from 'node:test';
import { didYouMean, nearestName } from './nearest-name.ts';

const names = ['http.address', 'http.tls-cert', 'data-key-file', 'log.level'];

test('nearestName returns the name with the fewest mistyped letters [SRV-9]', () => {
  assert.equal(nearestName('htp.adress', names), 'http.address');
  assert.equal(nearestName('LOG.LEVEL', names), 'log.level');
});

test('nearestName completes a truncated name', () => {
  assert.equal(nearestName('tls-cert', names), 'http.tls-cert');
  assert.equal(nearestName('data-key', names), 'data-key-file');
});

test('nearestName returns undefined for a name without a similar one', () => {
  assert.equal(nearestName('colour', names), undefined);
  assert.equal(didYouMean('colour', names), '');
  assert.equal(didYouMean('log.levels', names), '; did you mean log.level?');
});
