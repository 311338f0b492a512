import assert from 'node:assert/strict';
import { test } from 'node:test';
import { didYouMean, nearestName } from './near-names.ts';

const names = ['http.address', 'http.tls-cert', 'data-key-file', 'log.level'];

test('the nearest name is the one with the fewest mistyped letters', () => {
  assert.equal(nearestName('htp.adress', names), 'http.address');
  assert.equal(nearestName('LOG.LEVEL', names), 'log.level');
});

test('a name that is cut short is completed', () => {
  assert.equal(nearestName('tls-cert', names), 'http.tls-cert');
  assert.equal(nearestName('data-key', names), 'data-key-file');
});

test('nothing is suggested for a name that is near to none', () => {
  assert.equal(nearestName('colour', names), undefined);
  assert.equal(didYouMean('colour', names), '');
  assert.equal(didYouMean('log.levels', names), '; did you mean log.level?');
});
