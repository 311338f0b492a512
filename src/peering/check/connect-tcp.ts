/** The second step: a TCP connection, made as the dialer makes it, over all addresses of the name. */
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import net from 'node:net';
import type { FaultCode } from './findings.ts';
import { faulty, passed } from './report.ts';
import { outcomeOf, type Step } from './step.ts';

const FAULT_OF: Readonly<Record<string, FaultCode>> = {
  ECONNREFUSED: 'tcp-refused',
  ETIMEDOUT: 'tcp-timed-out',
  EHOSTUNREACH: 'tcp-unreachable',
  ENETUNREACH: 'tcp-unreachable',
  EHOSTDOWN: 'tcp-unreachable',
  ENETDOWN: 'tcp-unreachable',
  EADDRNOTAVAIL: 'tcp-unreachable',
  // A firewall on this machine.
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
    // Never looked up: the answer is known.
    host: 'peer.invalid',
    port,
    lookup: (_host, _options, answer) => answer(null, [...addresses]),
    autoSelectFamily: true,
  });
  const outcome = await outcomeOf(once(socket, 'connect', { signal }), signal);
  if (outcome.kind === 'done') {
    // Who reads it next has handlers of its own; a connection that breaks in between must not end the process.
    socket.on('error', () => undefined);
    return { check: passed('tcp', `${socket.remoteAddress}`), value: socket };
  }
  socket.on('error', () => undefined).destroy();
  if (outcome.kind === 'timed-out') {
    return { check: faulty('tcp-timed-out', addresses.map(({ address }) => address).join(', ')) };
  }
  const errors = errorsIn(outcome.error);
  const detail = errors.map(({ message }) => message).join('; ');
  return { check: faulty(FAULT_OF[errors[0]?.code ?? ''] ?? 'tcp-failed', detail) };
}

/** A name with several addresses fails with one error for each. */
const errorsIn = (error: NodeJS.ErrnoException): readonly NodeJS.ErrnoException[] =>
  error instanceof AggregateError ? error.errors : [error];
