/** The certificate's files: read at the start, and again when they change or when it is asked for. */
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../../state/clock/clock.ts';
import { CERTIFICATE_CHECK_MS } from '../limits.ts';
import type { Log } from '../telemetry/log.ts';
import type { Certificate } from './node-server.ts';

/** Where the two lie: `http.tls-cert`, `http.tls-key`. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** Reads both. @throws Error when one cannot be read, or they are not a certificate with its key */
export async function readCertificate(files: CertificateFiles): Promise<Certificate> {
  const [cert, key] = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')]);
  createSecureContext({ cert, key });
  return { cert, key };
}

export interface FollowOptions {
  readonly files: CertificateFiles;
  /** The one in use. */
  readonly current: Certificate;
  readonly replace: (certificate: Certificate) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Looks at the files now and then, and hands over what changed. Files that do not fit together, as between the writing
 * of one and of the other, are left alone until they do. Compared by content: that also notices a swapped link.
 * @returns looks at once, for SIGHUP
 */
export function followCertificate(options: FollowOptions): () => Promise<void> {
  const { files, replace, clock, log, signal } = options;
  let { current } = options;

  const look = async (): Promise<void> => {
    try {
      const found = await readCertificate(files);
      if (found.cert === current.cert && found.key === current.key) return;
      replace(found);
      current = found;
      log.info({ file: files.cert }, 'a new certificate is in use');
    } catch (error) {
      log.warn({ file: files.cert, error }, 'the certificate cannot be read again; the old one stays in use');
    }
  };
  const lookLater = (): void => {
    const cancel = clock.after(CERTIFICATE_CHECK_MS, () => {
      signal.removeEventListener('abort', cancel);
      void look().then(() => {
        if (!signal.aborted) lookLater();
      });
    });
    signal.addEventListener('abort', cancel, { once: true });
  };
  lookLater();
  return look;
}
