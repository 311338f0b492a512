import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dataKeyCipher } from '../../state/transfer/encryption.ts';
import { createSecretStore, DataKeyError } from './encrypted-secret.ts';

const inClear = createSecretStore(undefined);
const withKey = createSecretStore(dataKeyCipher(Buffer.alloc(32, 1)));
const withOther = createSecretStore(dataKeyCipher(Buffer.alloc(32, 2)));

test('stores plain text without a data key, and reads it with and without one', () => {
  const stored = inClear.encrypt('s3cret', 'here');
  assert.deepEqual(stored, { clear: 's3cret' });
  for (const store of [inClear, withKey]) assert.equal(store.decrypt(stored, 'here'), 's3cret');
});

test('decrypts only with the same key and context', () => {
  const stored = withKey.encrypt('s3cret', 'here');
  assert.doesNotMatch(JSON.stringify(stored), /s3cret/);
  assert.equal(withKey.decrypt(JSON.parse(JSON.stringify(stored)), 'here'), 's3cret');
  assert.throws(() => withKey.decrypt(stored, 'there'), DataKeyError);
  assert.throws(() => withOther.decrypt(stored, 'here'), /^DataKeyError: data-key-file holds another key/);
  assert.throws(() => inClear.decrypt(stored, 'here'), /^DataKeyError: data-key-file is not set/);
});

test('encryptIfPlain encrypts plain text with the data key, and returns other secrets unchanged', () => {
  const clear = inClear.encrypt('s3cret', 'here');
  assert.equal(inClear.encryptIfPlain(clear, 'here'), clear);
  const sealed = withKey.encryptIfPlain(clear, 'here');
  assert.equal(withKey.decrypt(sealed, 'here'), 's3cret');
  assert.ok('sealed' in sealed);
  assert.equal(withKey.encryptIfPlain(sealed, 'here'), sealed);
});
