/** The first step to an address: what DNS says, as this server sees it. */
import { type LookupAddress, promises } from 'node:dns';
import { isIP } from 'node:net';
import { faulty, passed } from './report.ts';
import { outcomeOf, type Step } from './step.ts';

/** Asks for the addresses of a name. @throws what `dns.lookup` does */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

/** As connections do it: the system's resolver, `/etc/hosts` included. */
export const systemResolve: Resolve = (host) => promises.lookup(host, { all: true });

/** The addresses behind a host, which may be one itself. */
export async function resolveHost(
  resolve: Resolve,
  host: string,
  signal: AbortSignal,
): Promise<Step<readonly LookupAddress[]>> {
  const family = isIP(host);
  if (family !== 0) return { check: passed('dns', 'an address, no name'), value: [{ address: host, family }] };
  const outcome = await outcomeOf(unlessAborted(resolve(host), signal), signal);
  switch (outcome.kind) {
    case 'done':
      if (outcome.value.length === 0) return { check: faulty('dns-not-found', `${host} has no address`) };
      return { check: passed('dns', outcome.value.map(({ address }) => address).join(', ')), value: outcome.value };
    case 'timed-out':
      return { check: faulty('dns-timed-out', host) };
    case 'failed': {
      const { code = '', message } = outcome.error;
      return { check: faulty(NOT_FOUND.has(code) ? 'dns-not-found' : 'dns-unavailable', message) };
    }
  }
}

const NOT_FOUND = new Set(['ENOTFOUND', 'ENODATA', 'ENONAME']);

/** A look-up cannot be cancelled: it is left alone when the time is over. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    if (signal.aborted) onAbort();
  });
}
