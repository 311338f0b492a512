import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dataKeySealer } from '../../state/transfer/encryption.ts';
import { createSecretStore, DataKeyError } from './encrypted-secret.ts';

const inClear = createSecretStore(undefined);
const withKey = createSecretStore(dataKeySealer(Buffer.alloc(32, 1)));
const withOther = createSecretStore(dataKeySealer(Buffer.alloc(32, 2)));

test('a secret without a data key is stored in clear, and opens with and without one', () => {
  const stored = inClear.seal('s3cret', 'here');
  assert.deepEqual(stored, { clear: 's3cret' });
  for (const store of [inClear, withKey]) assert.equal(store.open(stored, 'here'), 's3cret');
});

test('a sealed secret opens with its key in its place alone', () => {
  const stored = withKey.seal('s3cret', 'here');
  assert.doesNotMatch(JSON.stringify(stored), /s3cret/);
  assert.equal(withKey.open(JSON.parse(JSON.stringify(stored)), 'here'), 's3cret');
  assert.throws(() => withKey.open(stored, 'there'), DataKeyError);
  assert.throws(() => withOther.open(stored, 'here'), /^DataKeyError: data-key-file holds another key/);
  assert.throws(() => inClear.open(stored, 'here'), /^DataKeyError: data-key-file is not set/);
});

test('renewing seals what lies in clear, once there is a key, and leaves the rest as it is', () => {
  const clear = inClear.seal('s3cret', 'here');
  assert.equal(inClear.renew(clear, 'here'), clear);
  const sealed = withKey.renew(clear, 'here');
  assert.equal(withKey.open(sealed, 'here'), 's3cret');
  assert.ok('sealed' in sealed);
  assert.equal(withKey.renew(sealed, 'here'), sealed);
});
