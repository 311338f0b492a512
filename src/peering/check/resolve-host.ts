/** The step `dns`: resolves the host of an address, as this server does. */
import { type LookupAddress, promises } from 'node:dns';
import { isIP } from 'node:net';
import { finding, outcomeOf, passed, type Step } from './report.ts';

/** Resolves a name. @throws the errors of `dns.lookup` */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

/** The system's resolver, which connections use too. It includes `/etc/hosts`. */
export const systemResolve: Resolve = (host) => promises.lookup(host, { all: true });

/** Returns the addresses of a name, or the host itself if it is an IP address. */
export async function resolveHost(
  resolve: Resolve,
  host: string,
  signal: AbortSignal,
): Promise<Step<readonly LookupAddress[]>> {
  const family = isIP(host);
  if (family !== 0) return { check: passed('dns', 'not needed for an IP address'), value: [{ address: host, family }] };
  const outcome = await outcomeOf(abortable(resolve(host), signal), signal);
  switch (outcome.kind) {
    case 'done':
      if (outcome.value.length === 0) return { check: finding('dns-not-found', `${host} has no address`) };
      return { check: passed('dns', outcome.value.map(({ address }) => address).join(', ')), value: outcome.value };
    case 'timed-out':
      return { check: finding('dns-timed-out', host) };
    case 'failed': {
      const { code = '', message } = outcome.error;
      return { check: finding(NOT_FOUND.has(code) ? 'dns-not-found' : 'dns-unavailable', message) };
    }
  }
}

const NOT_FOUND = new Set(['ENOTFOUND', 'ENODATA', 'ENONAME']);

/** Rejects when the signal aborts. The lookup itself cannot be canceled. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    if (signal.aborted) onAbort();
  });
}
