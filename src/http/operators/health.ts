/** What operators and their machines ask: does it live, can it serve, which version is it. Nobody needs a token. */
import { type Answer, textAnswer } from '../answer.ts';
import type { Endpoint } from '../endpoint.ts';
import { isStoreKnown, type StoreContact } from '../store-contact.ts';
import { jsonAnswer } from '../v1/json-answer.ts';

export interface OperatorsOptions {
  readonly state: StoreContact;
  /** `stale.max-age`. */
  readonly staleMaxAgeMs: number;
  /** What `GET /version` answers with. */
  readonly version: { readonly Version: string } & Readonly<Record<string, string>>;
}

/** `/healthz`, `/readyz`, `/version`. */
export function operatorEndpoints({ state, staleMaxAgeMs, version }: OperatorsOptions): Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/healthz',
      summary: 'Whether the process lives',
      open: true,
      handle: () => textAnswer(200, 'ok'),
    },
    {
      method: 'GET',
      path: '/readyz',
      summary: 'Whether requests can be served, at least stale reads',
      open: true,
      handle: () => readiness(state, staleMaxAgeMs),
    },
    {
      method: 'GET',
      path: '/version',
      summary: 'The version of the server',
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
  return textAnswer(200, isStoreKnown(state) ? 'ready' : 'degraded');
}
