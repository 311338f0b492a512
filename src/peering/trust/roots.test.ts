import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSecretStore } from '../record/encrypted-secret.ts';
import { BACKDATED_MS, ROOT_LIFE_MS, ROOTS_MAX } from './limits.ts';
import { makeAuthority } from './make-certificates.ts';
import { clusterName } from './names.ts';
import { parseRoots, RootError, unexpiredRoots } from './roots.ts';

const nowMs = Date.UTC(2030, 0, 1);
const name = clusterName('1b2c3d4e-0000-4000-8000-00000000000a', 'dc1');
const { root, server } = await makeAuthority({ name, secrets: createSecretStore(undefined), nowMs });
const pem = root.certificate;

test('roots are read in their order, each ending in a newline', () => {
  const parsed = parseRoots([pem, `\n${pem.trim()}`], nowMs);
  const expected = { pem, fingerprint: root.fingerprint, notAfterMs: nowMs + ROOT_LIFE_MS };
  assert.deepEqual(parsed, [expected, expected]);
  assert.deepEqual(parseRoots([], nowMs), []);
});

const base64 = pem.split('\n').slice(1, -2).join('\n');
const refused: readonly (readonly [what: string, pems: readonly string[], message: RegExp, nowMs?: number])[] = [
  ['an empty text', [''], /^the certificate is not one certificate in PEM$/],
  ['any text', ['hello'], /^the certificate is not one certificate in PEM$/],
  [
    'a private key',
    ['-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n'],
    /is not one certificate in PEM/,
  ],
  ['two in one', [pem + pem], /is not one certificate in PEM/],
  ['text around it', [`Root:\n${pem}`], /is not one certificate in PEM/],
  ['what is no certificate inside', [pem.replace(base64, 'AAAA')], /^the certificate cannot be read$/],
  ['one that is cut short', [pem.replace(base64, base64.slice(0, 200))], /^the certificate cannot be read$/],
  ['a server certificate', [pem, server.certificate], /^certificate 2 is not the one of a certificate authority$/],
  ['an expired one', [pem], /^the certificate expired at 2040-01-01T00:00:00\.000Z$/, nowMs + ROOT_LIFE_MS],
  [
    'one that is not valid yet',
    [pem],
    /^the certificate is not valid before 2029-12-31T23:00:00\.000Z, and here it is 2029-12-31T22:59:59\.999Z$/,
    nowMs - BACKDATED_MS - 1,
  ],
  ['one that is too long', [' '.repeat(40_000) + pem], /^the certificate is longer than 32768 characters$/],
  ['too many', Array.from({ length: ROOTS_MAX + 1 }, () => pem), /^it names 17 certificates, at most 16 are taken$/],
];

for (const [what, pems, message, now = nowMs] of refused) {
  test(`${what} is no root`, () => {
    assert.throws(
      () => parseRoots(pems, now),
      (error) => error instanceof RootError && message.test(error.message),
    );
  });
}

test('of a bundle expired roots are left out, and those that are not valid yet stay', async () => {
  const laterMs = nowMs + ROOT_LIFE_MS;
  const { root: later } = await makeAuthority({ name, secrets: createSecretStore(undefined), nowMs: laterMs });
  const pems = (atMs: number): readonly string[] =>
    unexpiredRoots([pem, later.certificate], atMs).map((one) => one.pem);
  assert.deepEqual(pems(nowMs), [pem, later.certificate]);
  assert.deepEqual(pems(laterMs), [later.certificate]);
  assert.throws(() => pems(laterMs + ROOT_LIFE_MS), /^RootError: certificate 1 expired at 2040-01-01T00:00:00\.000Z$/);
  assert.deepEqual(unexpiredRoots([], nowMs), []);
});

for (const [what, pems, message, now] of refused.filter(([, , , now]) => now === undefined)) {
  test(`${what} spoils a bundle`, () => {
    assert.throws(
      () => unexpiredRoots(pems, now ?? nowMs),
      (error) => error instanceof RootError && message.test(error.message),
    );
  });
}
