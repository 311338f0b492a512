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
  return readRoots(pems).map((read) => {
    const { which, certificate } = read;
    const { validFromDate } = certificate;
    if (hasExpired(read, nowMs)) throw expired(read);
    if (validFromDate.getTime() > nowMs) {
      throw new RootError(
        `${which} is not valid before ${validFromDate.toISOString()}, and here it is ${new Date(nowMs).toISOString()}`,
      );
    }
    return rootOf(read);
  });
}

/**
 * The roots that can be of use, now or later: those that have not expired at `nowMs`. For a bundle that replaces the one
 * before and is not sent again until it changes: refused for one root's dates, it would leave the peer trusting none of
 * the new ones. A root that is not valid yet, as one made a moment ago is to a clock that is behind, stays; TLS judges
 * it when it is used.
 * @param pems one certificate each, at least one
 * @throws RootError unless each is a CA certificate, and one has not expired
 */
export function unexpiredRoots(pems: readonly string[], nowMs: number): readonly Root[] {
  const read = readRoots(pems);
  const [first] = read;
  const left = read.filter((one) => !hasExpired(one, nowMs));
  if (first !== undefined && left.length === 0) throw expired(first);
  return left.map(rootOf);
}

/** A root of a list, and what it is called in messages. */
interface ReadRoot {
  readonly which: string;
  readonly pem: string;
  readonly certificate: X509Certificate;
}

/** Checks everything but the dates. */
function readRoots(pems: readonly string[]): readonly ReadRoot[] {
  if (pems.length > ROOTS_MAX)
    throw new RootError(`it names ${pems.length} certificates, at most ${ROOTS_MAX} are taken`);
  return pems.map((pem, i) => {
    const which = pems.length === 1 ? 'the certificate' : `certificate ${i + 1}`;
    const certificate = parse(pem, which);
    if (!certificate.ca) throw new RootError(`${which} is not the one of a certificate authority`);
    return { which, pem, certificate };
  });
}

const rootOf = ({ pem, certificate: { fingerprint256, validToDate } }: ReadRoot): Root => ({
  pem: `${pem.trim()}\n`,
  fingerprint: fingerprint256,
  notAfterMs: validToDate.getTime(),
});

const hasExpired = ({ certificate }: ReadRoot, nowMs: number): boolean => certificate.validToDate.getTime() <= nowMs;

const expired = ({ which, certificate }: ReadRoot): RootError =>
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
