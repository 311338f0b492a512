/**
 * Issues the certificates of the cluster ([PEER-84]). Keys are ECDSA P-256, which every TLS stack supports. OpenSSL, Go
 * and Node accept the extensions: critical basic constraints and key usage, both key identifiers, and names in the SAN
 * only.
 */
import { createPrivateKey, randomUUID, type webcrypto, X509Certificate } from 'node:crypto';
import type * as X509 from '@peculiar/x509';
import type { SecretStore, StoredSecret } from '../record/encrypted-secret.ts';
import { type Authority, type IssuedCertificate, rootKeyPlace, serverKeyPlace } from './authority.ts';
import type { ClusterName } from './cluster-name.ts';
import { BACKDATED_MS, ROOT_LIFE_MS, SERVER_LIFE_MS } from './limits.ts';

const KEY = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' } as const;

export interface IssueOptions {
  readonly name: ClusterName;
  readonly secrets: SecretStore;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

export async function createAuthority({ name, secrets, nowMs }: IssueOptions): Promise<Authority> {
  const x509 = await loadX509();
  const id = randomUUID();
  const keys = await generateKeys();
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    // Each CA root has its own name, so that a TLS client tries the right issuer first.
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
  const issuer = { id, root: await toIssuedCertificate(root, keys, secrets, rootKeyPlace(id)) };
  return { ...issuer, server: await issueServerCertificate(issuer, { name, secrets, nowMs }) };
}

/** Issues a server certificate with a new key, signed by the CA root of an authority. @throws DataKeyError */
export async function issueServerCertificate(
  { id, root }: Pick<Authority, 'id' | 'root'>,
  { name, secrets, nowMs }: IssueOptions,
): Promise<IssuedCertificate> {
  const x509 = await loadX509();
  const keys = await generateKeys();
  const issuer = new x509.X509Certificate(root.certificate);
  const certificate = await x509.X509CertificateGenerator.create({
    // A common name has at most 64 characters, too few for the server name.
    subject: 'CN=Accord server',
    issuer: issuer.subject,
    publicKey: keys.publicKey,
    signingKey: await importKey(secrets.decrypt(root.key, rootKeyPlace(id))),
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
  return await toIssuedCertificate(certificate, keys, secrets, serverKeyPlace(id));
}

/** Loads the X.509 library on first use to save memory. It needs the polyfill loaded before it. */
async function loadX509(): Promise<typeof X509> {
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

async function toIssuedCertificate(
  certificate: X509.X509Certificate,
  keys: webcrypto.CryptoKeyPair,
  secrets: SecretStore,
  place: string,
): Promise<IssuedCertificate> {
  const pem = `${certificate.toString('pem').trim()}\n`;
  return {
    certificate: pem,
    key: await encryptKey(keys.privateKey, secrets, place),
    fingerprint: new X509Certificate(pem).fingerprint256,
    notBefore: certificate.notBefore.toISOString(),
    notAfter: certificate.notAfter.toISOString(),
  };
}

async function encryptKey(key: webcrypto.CryptoKey, secrets: SecretStore, place: string): Promise<StoredSecret> {
  const { PemConverter } = await loadX509();
  const pem = PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
  return secrets.encrypt(`${pem.trim()}\n`, place);
}
