/**
 * The steps `tls` and `server-name`. The handshake completes even with an untrusted certificate, so that trust, name
 * and protocol get separate findings. Nothing is sent over such a connection.
 */
import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import tls from 'node:tls';
import type { FindingCode } from './findings.ts';
import { FOREIGN_TEXT_LENGTH_MAX } from './limits.ts';
import { type Check, finding, outcomeOf, passed } from './report.ts';

/** The identity that the other side must prove. */
export interface PeerIdentity {
  readonly serverName: string;
  /** The trusted CA roots, in PEM. */
  readonly roots: readonly string[];
}

export interface SecureConnection {
  readonly socket: tls.TLSSocket;
  readonly certificate: X509Certificate;
}

export interface HandshakeResult {
  /** `tls`, and `server-name` if the server presented a certificate. */
  readonly checks: readonly Check[];
  /** Absent when a check failed. */
  readonly value?: SecureConnection;
}

/** Performs the handshake. The caller owns both sockets. */
export async function openTls(
  tcp: Socket,
  { serverName, roots }: PeerIdentity,
  signal: AbortSignal,
): Promise<HandshakeResult> {
  const socket = tls.connect({
    socket: tcp,
    servername: serverName,
    ca: [...roots],
    ALPNProtocols: ['h2'],
    rejectUnauthorized: false,
    // A check of its own, below.
    checkServerIdentity: () => undefined,
  });
  const outcome = await outcomeOf(once(socket, 'secureConnect', { signal }), signal);
  socket.on('error', () => undefined);
  if (outcome.kind === 'timed-out') return { checks: [finding('tls-timed-out')] };
  if (outcome.kind === 'failed') return { checks: [finding(handshakeFinding(outcome.error), outcome.error.message)] };
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return { checks: [finding('tls-not-trusted', 'the server presented no certificate')] };
  const trust = checkTrust(socket, certificate);
  const name = checkName(serverName, certificate);
  const checks = [trust, name];
  return checks.some(({ Status }) => Status === 'failed') ? { checks } : { checks, value: { socket, certificate } };
}

function handshakeFinding({ code = '' }: NodeJS.ErrnoException): FindingCode {
  if (code === 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL') return 'tls-no-http2';
  if (code.includes('ALERT')) return 'tls-refused';
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'ERR_SSL_UNEXPECTED_EOF_WHILE_READING') return 'tls-closed';
  return 'tls-none';
}

function checkTrust(socket: tls.TLSSocket, certificate: X509Certificate): Check {
  const until = certificate.validToDate.toISOString();
  const reason: unknown = socket.authorizationError;
  if (!socket.authorized) {
    if (reason === 'CERT_HAS_EXPIRED') return finding('tls-expired', `it was valid until ${until}`);
    if (reason === 'CERT_NOT_YET_VALID')
      return finding('tls-not-yet-valid', `it is valid from ${certificate.validFromDate.toISOString()}`);
    return finding('tls-not-trusted', `${reason}; it was issued by ${oneLine(certificate.issuer)}`);
  }
  // Some servers speak HTTP/2 without negotiating it, such as Consul 1.20. The next step finds out.
  const protocol = socket.alpnProtocol === 'h2' ? '' : ', HTTP/2 not negotiated';
  return passed('tls', `${socket.getProtocol()}, certificate valid until ${until}${protocol}`);
}

function checkName(serverName: string, certificate: X509Certificate): Check {
  if (certificate.checkHost(serverName, { subject: 'never' }) !== undefined) return passed('server-name', serverName);
  const named = certificate.subjectAltName?.slice(0, FOREIGN_TEXT_LENGTH_MAX) ?? 'nothing';
  return finding('server-name-wrong', `want DNS:${serverName}, got ${named}`);
}

/** Joins the lines of a certificate name, which has one line per part. */
const oneLine = (name: string): string => name.slice(0, FOREIGN_TEXT_LENGTH_MAX).replaceAll('\n', ', ');
