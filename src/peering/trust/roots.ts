/** Reads the roots that another cluster names, in a token or a trust bundle, before anything is trusted. */
import { X509Certificate } from 'node:crypto';
import { ROOT_CHARACTERS_MAX, ROOTS_MAX } from './limits.ts';

/** A root that may be trusted. */
export interface Root {
  /** PEM, ending in a newline. */
  readonly pem: string;
  /** SHA-256 as OpenSSL shows it: `AB:CD:…`. */
  readonly fingerprint: string;
  /** Milliseconds since 1970. */
  readonly notAfterMs: number;
}

/** Thrown for what is no root. Its message follows `peering token invalid CA: `. */
export class RootError extends Error {
  override readonly name = 'RootError';
}

const ONE_CERTIFICATE = /^\s*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*$/;

/**
 * Every root of the list, in its order.
 * @param pems one certificate each
 * @throws RootError unless each is a CA certificate that is valid at `nowMs`
 */
export function parseRoots(pems: readonly string[], nowMs: number): readonly Root[] {
  if (pems.length > ROOTS_MAX)
    throw new RootError(`it names ${pems.length} certificates, at most ${ROOTS_MAX} are taken`);
  return pems.map((pem, i) => parseRoot(pem, pems.length === 1 ? 'the certificate' : `certificate ${i + 1}`, nowMs));
}

function parseRoot(pem: string, which: string, nowMs: number): Root {
  const certificate = parse(pem, which);
  if (!certificate.ca) throw new RootError(`${which} is not the one of a certificate authority`);
  const { validFromDate, validToDate, fingerprint256 } = certificate;
  if (validToDate.getTime() <= nowMs) throw new RootError(`${which} expired at ${validToDate.toISOString()}`);
  if (validFromDate.getTime() > nowMs) {
    throw new RootError(
      `${which} is not valid before ${validFromDate.toISOString()}, and here it is ${new Date(nowMs).toISOString()}`,
    );
  }
  return { pem: `${pem.trim()}\n`, fingerprint: fingerprint256, notAfterMs: validToDate.getTime() };
}

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
