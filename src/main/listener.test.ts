import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../config.ts';
import { localNamesOf } from './listener.ts';

for (const [host, enabled, defaultPolicy, wanted] of [
  ['127.0.0.1', true, 'deny', 'with-origin'],
  ['::1', true, 'deny', 'with-origin'],
  ['localhost', false, 'deny', 'always'],
  ['127.0.0.1', true, 'allow', 'always'],
  ['0.0.0.0', false, 'deny', 'never'],
  ['accord.example', true, 'deny', 'never'],
] as const) {
  const rules = `${enabled ? 'tokens' : 'no tokens'}, ${defaultPolicy}`;
  test(`localNamesOf returns ${wanted} for a listener on ${host} with ${rules}`, () => {
    const config = { http: { address: { host, port: 8500 } }, acl: { enabled, defaultPolicy } };
    assert.equal(localNamesOf(config as Pick<Config, 'http' | 'acl'>), wanted);
  });
}
