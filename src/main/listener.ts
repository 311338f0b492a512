/** Prepares listeners: the certificate, the protection against DNS rebinding, and errors that name the setting. */
import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { ConfigError } from '../config/error.ts';
import { isLoopback } from '../config/network-kinds.ts';
import type { Config } from '../config.ts';
import { type CertificateFiles, readCertificate } from '../http/server/certificates.ts';
import type { Certificate } from '../http/server/node-server.ts';
import type { LocalNames } from '../http/server/origin.ts';

/** The address of a listener is unusable. The message is complete for an operator. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use: stop the other process, or choose another port',
  EADDRNOTAVAIL: 'this machine does not have the address',
  EACCES: 'this user may not listen on the port: choose a port above 1023',
};

/** Waits for a listener and names `setting` in its errors. @throws ListenError, and any other error of `start` */
export async function describeListenErrors<T>(setting: string, start: Promise<T>): Promise<T> {
  try {
    return await start;
  } catch (error) {
    if (!isListenError(error)) throw error;
    const reason = REASONS[error.code] ?? error.code;
    throw new ListenError(`${setting}: cannot listen on ${error.address}:${error.port}: ${reason}`, { cause: error });
  }
}

/**
 * Opens and closes a listener on an address that the server listens on later, so that a start fails before it has
 * changed or printed anything. @throws ListenError
 */
export async function checkListenAddress(
  setting: string,
  { host, port }: { host: string; port: number },
  protocols: readonly ('tcp' | 'udp')[] = ['tcp'],
): Promise<void> {
  if (port === 0) return;
  for (const protocol of protocols) {
    const open: Promise<Server | Socket> = protocol === 'tcp' ? openTcp(host, port) : openUdp(host, port);
    const socket = await describeListenErrors(setting, open);
    const closed = once(socket, 'close');
    socket.close();
    await closed;
  }
}

async function openTcp(host: string, port: number): Promise<Server> {
  const server = createServer().listen({ host, port });
  await once(server, 'listening');
  return server;
}

async function openUdp(host: string, port: number): Promise<Socket> {
  const { address, family } = await lookup(host);
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
  const bound = once(socket, 'listening');
  socket.bind({ address, port, exclusive: true });
  await bound;
  return socket;
}

interface SystemError extends Error {
  readonly code: string;
  readonly address: string;
  readonly port: number;
}

/** Whether the error comes from `listen` (TCP) or `bind` (UDP). */
const isListenError = (error: unknown): error is SystemError =>
  error instanceof Error && 'syscall' in error && ['listen', 'bind'].includes(String(error.syscall)) && 'port' in error;

/** Returns which requests must name a server on loopback by `localhost` or an IP address. */
export function localNamesOf({ http, acl }: Pick<Config, 'http' | 'acl'>): LocalNames {
  if (!isLoopback(http.address.host)) return 'never';
  return acl.enabled && acl.defaultPolicy === 'deny' ? 'with-origin' : 'always';
}

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
