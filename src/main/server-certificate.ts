/** Reads the certificate that `http.tls-cert` and `http.tls-key` name. */
import { ConfigError } from '../config/error.ts';
import type { Config } from '../config.ts';
import { type CertificateFiles, readCertificate } from '../http/server/certificates.ts';
import type { Certificate } from '../http/server/node-server.ts';

export interface ServerCertificate {
  readonly files: CertificateFiles;
  readonly current: Certificate;
}

/** Returns `undefined` for plain HTTP. @throws ConfigError when the files are not a certificate and its key */
export async function readServerCertificate({ http }: Config): Promise<ServerCertificate | undefined> {
  if (http.tlsCert === undefined || http.tlsKey === undefined) return undefined;
  const files = { cert: http.tlsCert, key: http.tlsKey };
  try {
    return { files, current: await readCertificate(files) };
  } catch (cause) {
    const shown = `http.tls-cert ${files.cert} and http.tls-key ${files.key}`;
    const reason = (cause as Error).message;
    throw new ConfigError(`${shown}: want a certificate and its private key in PEM (${reason})`, { cause });
  }
}
