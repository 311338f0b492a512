/**
 * Counts the WebCrypto operations in flight, so that simulated time can wait for them. They run on threads of their
 * own, for a time that does not depend on the seed.
 */
import type { webcrypto } from 'node:crypto';

const METHODS = ['generateKey', 'importKey', 'exportKey', 'sign', 'verify', 'digest'] as const;

let pending = 0;
let isTracking = false;

/** Tracks every later operation of this process. @returns a function that reports whether an operation is in flight */
export function trackCryptoOperations(): () => boolean {
  if (!isTracking) for (const name of METHODS) trackMethod(crypto.subtle, name);
  isTracking = true;
  return () => pending > 0;
}

function trackMethod(subtle: webcrypto.SubtleCrypto, name: (typeof METHODS)[number]): void {
  const method = subtle[name].bind(subtle) as (...args: readonly unknown[]) => Promise<unknown>;
  const counted = async (...args: readonly unknown[]): Promise<unknown> => {
    pending += 1;
    try {
      return await method(...args);
    } finally {
      pending -= 1;
    }
  };
  Object.defineProperty(subtle, name, { value: counted });
}
