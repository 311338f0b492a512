/** Reads the certificate files of the HTTP server, and reloads them when they change. [SRV-57] */
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../../state/clock/clock.ts';
import { CERTIFICATE_CHECK_MS } from '../limits.ts';
import type { Log } from '../telemetry/log.ts';
import type { Certificate } from './node-server.ts';

/** The paths in `http.tls-cert` and `http.tls-key`. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

/** Reads both files. @throws Error if one cannot be read, or if they are not a certificate and its key */
export async function readCertificate(files: CertificateFiles): Promise<Certificate> {
  const [cert, key] = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')]);
  createSecureContext({ cert, key });
  return { cert, key };
}

export interface WatchOptions {
  readonly files: CertificateFiles;
  readonly current: Certificate;
  readonly replace: (certificate: Certificate) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Reads the files periodically, and calls `replace` when their content has changed. Comparing content also detects a
 * replaced symbolic link. Files that do not match are ignored, because they may be half written.
 * @returns a function that checks the files immediately, for SIGHUP
 */
export function watchCertificate(options: WatchOptions): () => Promise<void> {
  const { files, replace, clock, log, signal } = options;
  let { current } = options;

  const check = async (): Promise<void> => {
    try {
      const found = await readCertificate(files);
      if (found.cert === current.cert && found.key === current.key) return;
      replace(found);
      current = found;
      log.info({ file: files.cert }, 'certificate reloaded');
    } catch (error) {
      log.warn({ file: files.cert, error }, 'certificate reload failed; the previous certificate stays in use');
    }
  };
  const scheduleCheck = (): void => {
    const cancel = clock.after(CERTIFICATE_CHECK_MS, () => {
      signal.removeEventListener('abort', cancel);
      void check().then(() => {
        if (!signal.aborted) scheduleCheck();
      });
    });
    signal.addEventListener('abort', cancel, { once: true });
  };
  scheduleCheck();
  return check;
}
