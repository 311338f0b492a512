/** Validates the CA roots of another cluster, from a peering token or a trust bundle ([PEER-50], [STREAM-69]). */
import { X509Certificate } from 'node:crypto';
import { ROOT_CHARACTERS_MAX, ROOTS_MAX } from './limits.ts';

export interface Root {
  /** PEM, ending in a newline. */
  readonly pem: string;
  /** SHA-256 in OpenSSL's format: `AB:CD:…`. */
  readonly fingerprint: string;
  /** Milliseconds since 1970. */
  readonly notAfterMs: number;
}

/** A CA root is not usable. The message is appended to `peering token invalid CA: `. */
export class RootError extends Error {
  override readonly name = 'RootError';
}

const ONE_CERTIFICATE = /^\s*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*$/;

/**
 * Parses the CA roots of a peering token, in their order.
 * @param pems one certificate each
 * @throws RootError if one of them is not a CA certificate or is not valid at `nowMs`
 */
export function parseRoots(pems: readonly string[], nowMs: number): readonly Root[] {
  return parseCertificates(pems).map((parsed) => {
    const { which, certificate } = parsed;
    const { validFromDate } = certificate;
    if (hasExpired(parsed, nowMs)) throw expiredError(parsed);
    if (validFromDate.getTime() > nowMs) {
      throw new RootError(
        `${which} is not valid before ${validFromDate.toISOString()}, and the time of this server is ${new Date(nowMs).toISOString()}`,
      );
    }
    return toRoot(parsed);
  });
}

/**
 * Returns the CA roots of a trust bundle that have not expired at `nowMs`. One expired root does not invalidate the
 * bundle, because the peer does not send a refused bundle again until it changes. Roots that are not valid yet are
 * kept, because the clock of this server may be behind. TLS checks the dates when a root is used.
 * @param pems one certificate each, at least one
 * @throws RootError if one of them is not a CA certificate, or all have expired
 */
export function unexpiredRoots(pems: readonly string[], nowMs: number): readonly Root[] {
  const parsed = parseCertificates(pems);
  const [first] = parsed;
  const unexpired = parsed.filter((root) => !hasExpired(root, nowMs));
  if (first !== undefined && unexpired.length === 0) throw expiredError(first);
  return unexpired.map(toRoot);
}

interface ParsedRoot {
  /** Names the certificate in error messages. */
  readonly which: string;
  readonly pem: string;
  readonly certificate: X509Certificate;
}

/** Parses CA certificates without checking their dates. @throws RootError */
function parseCertificates(pems: readonly string[]): readonly ParsedRoot[] {
  if (pems.length > ROOTS_MAX)
    throw new RootError(`it contains ${pems.length} certificates, want at most ${ROOTS_MAX}`);
  return pems.map((pem, i) => {
    const which = pems.length === 1 ? 'the certificate' : `certificate ${i + 1}`;
    const certificate = parse(pem, which);
    if (!certificate.ca) throw new RootError(`${which} is not a CA certificate`);
    return { which, pem, certificate };
  });
}

const toRoot = ({ pem, certificate: { fingerprint256, validToDate } }: ParsedRoot): Root => ({
  pem: `${pem.trim()}\n`,
  fingerprint: fingerprint256,
  notAfterMs: validToDate.getTime(),
});

const hasExpired = ({ certificate }: ParsedRoot, nowMs: number): boolean => certificate.validToDate.getTime() <= nowMs;

const expiredError = ({ which, certificate }: ParsedRoot): RootError =>
  new RootError(`${which} expired at ${certificate.validToDate.toISOString()}`);

function parse(pem: string, which: string): X509Certificate {
  if (pem.length > ROOT_CHARACTERS_MAX)
    throw new RootError(`${which} is longer than ${ROOT_CHARACTERS_MAX} characters`);
  if (!ONE_CERTIFICATE.test(pem)) throw new RootError(`${which} is not one certificate in PEM`);
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new RootError(`${which} cannot be read`, { cause });
  }
}
