import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../config.ts';
import { localNamesOf } from './local-names.ts';

for (const [host, enabled, defaultPolicy, wanted] of [
  ['127.0.0.1', true, 'deny', 'for-pages'],
  ['::1', true, 'deny', 'for-pages'],
  ['localhost', false, 'deny', 'for-everybody'],
  ['127.0.0.1', true, 'allow', 'for-everybody'],
  ['0.0.0.0', false, 'deny', 'for-nobody'],
  ['accord.example', true, 'deny', 'for-nobody'],
] as const) {
  const rules = `${enabled ? 'tokens' : 'no tokens'}, ${defaultPolicy}`;
  test(`a listener on ${host} with ${rules} must have a local name ${wanted}`, () => {
    const config = { http: { address: { host, port: 8500 } }, acl: { enabled, defaultPolicy } };
    assert.equal(localNamesOf(config as Pick<Config, 'http' | 'acl'>), wanted);
  });
}
