/** The CA certificates that a client trusts without a setting. */
import { getCACertificates } from 'node:tls';

/**
 * Returns the CA certificates of the system as PEM texts. The environment variables `SSL_CERT_FILE` and `SSL_CERT_DIR`
 * replace them. Where the system has none, returns those that come with Node [SRV-100] [ETCD-91].
 */
export function systemCertificates(): string[] {
  const ofSystem = getCACertificates('system');
  return ofSystem.length > 0 ? ofSystem : getCACertificates('default');
}
