/** The step `tcp`: connects as the dialer does, to any of the addresses of a name. */
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import net from 'node:net';
import type { FindingCode } from './findings.ts';
import { finding, outcomeOf, passed, type Step } from './report.ts';

const FINDING_BY_ERRNO: Readonly<Record<string, FindingCode>> = {
  ECONNREFUSED: 'tcp-refused',
  ETIMEDOUT: 'tcp-timed-out',
  EHOSTUNREACH: 'tcp-unreachable',
  ENETUNREACH: 'tcp-unreachable',
  EHOSTDOWN: 'tcp-unreachable',
  ENETDOWN: 'tcp-unreachable',
  EADDRNOTAVAIL: 'tcp-unreachable',
  // A firewall on this machine causes the next two.
  EACCES: 'tcp-unreachable',
  EPERM: 'tcp-unreachable',
};

/** Connects to the first of `addresses` that answers. The caller owns the socket. */
export async function connectTcp(
  addresses: readonly LookupAddress[],
  port: number,
  signal: AbortSignal,
): Promise<Step<net.Socket>> {
  const socket = net.connect({
    // Never resolved, because `lookup` returns the known addresses.
    host: 'peer.invalid',
    port,
    lookup: (_host, _options, answer) => answer(null, [...addresses]),
    autoSelectFamily: true,
  });
  const outcome = await outcomeOf(once(socket, 'connect', { signal }), signal);
  if (outcome.kind === 'done') {
    // An error before the TLS layer adds its handlers must not end the process.
    socket.on('error', () => undefined);
    return { check: passed('tcp', `${socket.remoteAddress}`), value: socket };
  }
  socket.on('error', () => undefined).destroy();
  if (outcome.kind === 'timed-out') {
    return { check: finding('tcp-timed-out', addresses.map(({ address }) => address).join(', ')) };
  }
  const errors = errorsIn(outcome.error);
  const detail = errors.map(({ message }) => message).join('; ');
  return { check: finding(FINDING_BY_ERRNO[errors[0]?.code ?? ''] ?? 'tcp-failed', detail) };
}

/** Returns the errors of all addresses. Node reports several as an AggregateError. */
const errorsIn = (error: NodeJS.ErrnoException): readonly NodeJS.ErrnoException[] =>
  error instanceof AggregateError ? error.errors : [error];
