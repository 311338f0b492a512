/** The endpoints of the certificate authority: `/v1/operator/ca` and `/v1/operator/ca/rotate`. */
import { type RequestContext, requestContextOf } from '../../../credentials/caller.ts';
import type { BlockingQueries } from '../../../http/blocking/blocking-query.ts';
import type { Call } from '../../../http/call.ts';
import type { Endpoint } from '../../../http/endpoint.ts';
import { jsonAnswer } from '../../../http/v1/json-answer.ts';
import { authoritySchema } from './authority-to-json.ts';
import { readAuthority } from './read-authority.ts';
import { rotate } from './rotate.ts';
import { rotateBack } from './rotate-back.ts';
import type { TrustContext } from './trust-context.ts';

export interface TrustEndpoints {
  readonly trust: TrustContext;
  readonly reads: BlockingQueries;
  /** Whether `X-Consul-Token` is accepted, with `compat: consul`. */
  readonly consul: boolean;
}

export function trustEndpoints({ trust, reads, consul }: TrustEndpoints): Endpoint[] {
  const context = (call: Call): RequestContext => requestContextOf(call, consul);
  return [
    {
      method: 'GET',
      path: '/v1/operator/ca',
      summary: 'Reads the CA roots that peers trust, and the stage of a rotation',
      blocking: true,
      answer: authoritySchema,
      handle: (call) => reads.answer(call, readAuthority(trust, context(call))),
    },
    {
      method: 'PUT',
      path: '/v1/operator/ca/rotate',
      summary: 'Starts a rotation of the CA root',
      answer: authoritySchema,
      handle: async (call) => jsonAnswer(call, await rotate(trust, context(call))),
    },
    {
      method: 'DELETE',
      path: '/v1/operator/ca/rotate',
      summary: 'Reverts the rotation in progress to the old CA root',
      answer: authoritySchema,
      handle: async (call) => jsonAnswer(call, await rotateBack(trust, context(call))),
    },
  ];
}
