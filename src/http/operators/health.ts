/** The endpoints for liveness, readiness and the version. They need no token. [SRV-64] */

import { isStoreReachable, type StoreContact } from '../blocking/read-protocol.ts';
import { type Answer, textAnswer } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import { jsonAnswer } from '../v1/json-answer.ts';

export interface HealthOptions {
  readonly state: StoreContact;
  readonly staleMaxAgeMs: number;
  readonly version: { readonly Version: string } & Readonly<Record<string, string>>;
}

export function healthEndpoints({ state, staleMaxAgeMs, version }: HealthOptions): Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/healthz',
      summary: 'Reports whether the process runs',
      open: true,
      handle: () => textAnswer(200, 'ok'),
    },
    {
      method: 'GET',
      path: '/readyz',
      summary: 'Reports whether the server can serve at least stale reads',
      open: true,
      handle: () => readiness(state, staleMaxAgeMs),
    },
    {
      method: 'GET',
      path: '/version',
      summary: 'Returns the version of the server',
      open: true,
      handle: async (call) => await jsonAnswer(call, version),
    },
  ];
}

function readiness(state: StoreContact, staleMaxAgeMs: number): Answer {
  const silentMs = state.lastContactMs();
  if (silentMs > staleMaxAgeMs) {
    const text = `the store has been silent for ${Math.round(silentMs / 1000)} s, longer than stale.max-age`;
    return textAnswer(503, text, ['Retry-After', '1']);
  }
  return textAnswer(200, isStoreReachable(state) ? 'ready' : 'degraded');
}
