/**
 * Makes the cluster's certificates: ECDSA on P-256, which every TLS stack takes. The form is the one that OpenSSL, Go and
 * Node agree on: constraints and key usage marked critical, key identifiers on both sides, names in the SAN alone.
 */
import { createPrivateKey, randomUUID, type webcrypto, X509Certificate } from 'node:crypto';
import type * as X509 from '@peculiar/x509';
import type { SecretStore, StoredSecret } from '../record/encrypted-secret.ts';
import { type Authority, type Issued, rootKeyPlace, serverKeyPlace } from './authority.ts';
import { BACKDATED_MS, ROOT_LIFE_MS, SERVER_LIFE_MS } from './limits.ts';
import type { ClusterName } from './names.ts';

const KEY = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' } as const;

export interface IssueOptions {
  readonly name: ClusterName;
  readonly secrets: SecretStore;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** A new root and a server certificate under it. */
export async function makeAuthority({ name, secrets, nowMs }: IssueOptions): Promise<Authority> {
  const x509 = await library();
  const id = randomUUID();
  const keys = await generateKeys();
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    // Roots of one cluster differ in name, so that whoever builds a chain tries the right one first.
    name: `CN=Accord CA ${id.slice(0, 8)}`,
    keys,
    signingAlgorithm: SIGNATURE,
    ...validity(nowMs, ROOT_LIFE_MS),
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(keys.publicKey),
      new x509.SubjectAlternativeNameExtension([{ type: 'url', value: `spiffe://${name.trustDomain}` }]),
    ],
  });
  const issuer = { id, root: await issued(root, keys, secrets, rootKeyPlace(id)) };
  return { ...issuer, server: await makeServerCertificate(issuer, { name, secrets, nowMs }) };
}

/** A new server certificate with a new key, under the root of an authority. @throws DataKeyError */
export async function makeServerCertificate(
  { id, root }: Pick<Authority, 'id' | 'root'>,
  { name, secrets, nowMs }: IssueOptions,
): Promise<Issued> {
  const x509 = await library();
  const keys = await generateKeys();
  const issuer = new x509.X509Certificate(root.certificate);
  const certificate = await x509.X509CertificateGenerator.create({
    // Not the server's name: a common name has 64 characters at most.
    subject: 'CN=Accord server',
    issuer: issuer.subject,
    publicKey: keys.publicKey,
    signingKey: await importKey(secrets.open(root.key, rootKeyPlace(id))),
    signingAlgorithm: SIGNATURE,
    ...validity(nowMs, SERVER_LIFE_MS),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: name.serverName }]),
    ],
  });
  return await issued(certificate, keys, secrets, serverKeyPlace(id));
}

/**
 * Loaded when a certificate is made, which is seldom: an idle server has better uses for its memory. The library takes
 * its algorithms from a container that wants a polyfill first.
 */
async function library(): Promise<typeof X509> {
  await import('reflect-metadata');
  return await import('@peculiar/x509');
}

const generateKeys = (): Promise<webcrypto.CryptoKeyPair> => crypto.subtle.generateKey(KEY, true, ['sign', 'verify']);

const importKey = (pem: string): Promise<webcrypto.CryptoKey> =>
  crypto.subtle.importKey('pkcs8', createPrivateKey(pem).export({ format: 'der', type: 'pkcs8' }), KEY, false, [
    'sign',
  ]);

function validity(nowMs: number, lifeMs: number): { readonly notBefore: Date; readonly notAfter: Date } {
  return { notBefore: new Date(nowMs - BACKDATED_MS), notAfter: new Date(nowMs + lifeMs) };
}

async function issued(
  certificate: X509.X509Certificate,
  keys: webcrypto.CryptoKeyPair,
  secrets: SecretStore,
  place: string,
): Promise<Issued> {
  const pem = `${certificate.toString('pem').trim()}\n`;
  return {
    certificate: pem,
    key: await storedKey(keys.privateKey, secrets, place),
    fingerprint: new X509Certificate(pem).fingerprint256,
    notBefore: certificate.notBefore.toISOString(),
    notAfter: certificate.notAfter.toISOString(),
  };
}

async function storedKey(key: webcrypto.CryptoKey, secrets: SecretStore, place: string): Promise<StoredSecret> {
  const { PemConverter } = await library();
  const pem = PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
  return secrets.seal(`${pem.trim()}\n`, place);
}
