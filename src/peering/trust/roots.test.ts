import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSecretStore } from '../record/encrypted-secret.ts';
import { clusterName } from './cluster-name.ts';
import { createAuthority } from './issue-certificates.ts';
import { BACKDATED_MS, ROOT_LIFE_MS, ROOTS_MAX } from './limits.ts';
import { parseRoots, RootError, unexpiredRoots } from './roots.ts';

const nowMs = Date.UTC(2030, 0, 1);
const name = clusterName('1b2c3d4e-0000-4000-8000-00000000000a', 'dc1');
const { root, server } = await createAuthority({ name, secrets: createSecretStore(undefined), nowMs });
const pem = root.certificate;

test('parseRoots returns the roots in their order, each with a newline at its end', () => {
  const parsed = parseRoots([pem, `\n${pem.trim()}`], nowMs);
  const expected = { pem, fingerprint: root.fingerprint, notAfterMs: nowMs + ROOT_LIFE_MS };
  assert.deepEqual(parsed, [expected, expected]);
  assert.deepEqual(parseRoots([], nowMs), []);
});

const base64 = pem.split('\n').slice(1, -2).join('\n');
const rejected: readonly (readonly [input: string, pems: readonly string[], message: RegExp, nowMs?: number])[] = [
  ['an empty string', [''], /^the certificate is not one certificate in PEM$/],
  ['other text', ['hello'], /^the certificate is not one certificate in PEM$/],
  [
    'a private key',
    ['-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n'],
    /is not one certificate in PEM/,
  ],
  ['two certificates in one string', [pem + pem], /is not one certificate in PEM/],
  ['text around the certificate', [`Root:\n${pem}`], /is not one certificate in PEM/],
  ['PEM without a certificate inside', [pem.replace(base64, 'AAAA')], /^the certificate cannot be read$/],
  ['a truncated certificate', [pem.replace(base64, base64.slice(0, 200))], /^the certificate cannot be read$/],
  ['a server certificate', [pem, server.certificate], /^certificate 2 is not a CA certificate$/],
  ['an expired root', [pem], /^the certificate expired at 2040-01-01T00:00:00\.000Z$/, nowMs + ROOT_LIFE_MS],
  [
    'a root that is not valid yet',
    [pem],
    /^the certificate is not valid before 2029-12-31T23:00:00\.000Z, and the time of this server is 2029-12-31T22:59:59\.999Z$/,
    nowMs - BACKDATED_MS - 1,
  ],
  ['a root that is too long', [' '.repeat(40_000) + pem], /^the certificate is longer than 32768 characters$/], // [PEER-50]
  [
    'too many roots',
    Array.from({ length: ROOTS_MAX + 1 }, () => pem),
    /^it contains 17 certificates, want at most 16$/,
  ],
];

for (const [input, pems, message, now = nowMs] of rejected) {
  test(`parseRoots rejects ${input}`, () => {
    assert.throws(
      () => parseRoots(pems, now),
      (error) => error instanceof RootError && message.test(error.message),
    );
  });
}

test('unexpiredRoots drops expired roots and keeps roots that are not valid yet [STREAM-69]', async () => {
  const laterMs = nowMs + ROOT_LIFE_MS;
  const { root: later } = await createAuthority({ name, secrets: createSecretStore(undefined), nowMs: laterMs });
  const pems = (atMs: number): readonly string[] =>
    unexpiredRoots([pem, later.certificate], atMs).map((one) => one.pem);
  assert.deepEqual(pems(nowMs), [pem, later.certificate]);
  assert.deepEqual(pems(laterMs), [later.certificate]);
  assert.throws(() => pems(laterMs + ROOT_LIFE_MS), /^RootError: certificate 1 expired at 2040-01-01T00:00:00\.000Z$/);
  assert.deepEqual(unexpiredRoots([], nowMs), []);
});

for (const [input, pems, message, now] of rejected.filter(([, , , now]) => now === undefined)) {
  test(`unexpiredRoots rejects ${input}`, () => {
    assert.throws(
      () => unexpiredRoots(pems, now ?? nowMs),
      (error) => error instanceof RootError && message.test(error.message),
    );
  });
}
