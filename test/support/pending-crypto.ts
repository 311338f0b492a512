/**
 * Counts what WebCrypto is doing on its own threads, so that simulated time can wait for it: it takes real time, and how
 * much no seed decides.
 */
import type { webcrypto } from 'node:crypto';

const METHODS = ['generateKey', 'importKey', 'exportKey', 'sign', 'verify', 'digest'] as const;

let pending = 0;
let watched = false;

/** Watches every operation of this process from now on. @returns whether one is under way */
export function watchCrypto(): () => boolean {
  if (!watched) for (const name of METHODS) watch(crypto.subtle, name);
  watched = true;
  return () => pending > 0;
}

function watch(subtle: webcrypto.SubtleCrypto, name: (typeof METHODS)[number]): void {
  const method = subtle[name].bind(subtle) as (...given: readonly unknown[]) => Promise<unknown>;
  const counted = async (...given: readonly unknown[]): Promise<unknown> => {
    pending += 1;
    try {
      return await method(...given);
    } finally {
      pending -= 1;
    }
  };
  Object.defineProperty(subtle, name, { value: counted });
}
