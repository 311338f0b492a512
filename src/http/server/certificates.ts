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

export interface WatchOptions<Content> {
  /** The file that log lines name. */
  readonly file: string;
  /** Reads and checks all files. @throws Error if their content is unusable */
  readonly read: () => Promise<Content>;
  readonly isSame: (a: Content, b: Content) => boolean;
  readonly current: Content;
  readonly replace: (content: Content) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Reads certificate files periodically, and calls `replace` when their content has changed. Comparing content also
 * detects a replaced symbolic link. Files that do not match are ignored, because they may be half written.
 * @returns a function that checks the files immediately, for SIGHUP
 */
export function watchFiles<Content>(options: WatchOptions<Content>): () => Promise<void> {
  const { file, read, isSame, replace, clock, log, signal } = options;
  let { current } = options;

  const check = async (): Promise<void> => {
    try {
      const found = await read();
      if (isSame(found, current)) return;
      replace(found);
      current = found;
      log.info({ file }, 'certificate reloaded');
    } catch (error) {
      log.warn({ file, error }, 'certificate reload failed; the previous certificate stays in use');
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

/** Watches the certificate of the HTTP server. See `watchFiles`. */
export function watchCertificate({
  files,
  ...options
}: Omit<WatchOptions<Certificate>, 'file' | 'read' | 'isSame'> & {
  readonly files: CertificateFiles;
}): () => Promise<void> {
  return watchFiles({
    ...options,
    file: files.cert,
    read: () => readCertificate(files),
    isSame: (a, b) => a.cert === b.cert && a.key === b.key,
  });
}
