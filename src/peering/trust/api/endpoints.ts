/** The endpoints of the certificate authority. */

import type { Asked } from '../../../credentials/operation.ts';
import { askedBy } from '../../../credentials/request-context.ts';
import type { Reads } from '../../../http/blocking/reads.ts';
import type { Call } from '../../../http/call.ts';
import type { Endpoint } from '../../../http/endpoint.ts';
import { jsonAnswer } from '../../../http/v1/json-answer.ts';
import { authoritySchema } from './authority-to-json.ts';
import type { Trust } from './operation.ts';
import { readAuthority } from './read-authority.ts';
import { rotate } from './rotate.ts';
import { rotateBack } from './rotate-back.ts';

export interface TrustEndpoints {
  readonly trust: Trust;
  readonly reads: Reads;
  /** `compat = consul`: also takes `X-Consul-Token`. */
  readonly consul: boolean;
}

/** `/v1/operator/ca…` */
export function trustEndpoints({ trust, reads, consul }: TrustEndpoints): Endpoint[] {
  const asked = (call: Call): Asked => askedBy(call, consul);
  return [
    {
      method: 'GET',
      path: '/v1/operator/ca',
      summary: 'Shows the roots that peers trust, and where a rotation stands',
      blocking: true,
      answer: authoritySchema,
      handle: (call) => reads.answer(call, readAuthority(trust, asked(call))),
    },
    {
      method: 'PUT',
      path: '/v1/operator/ca/rotate',
      summary: 'Begins to replace the root of the certificate authority',
      answer: authoritySchema,
      handle: async (call) => jsonAnswer(call, await rotate(trust, asked(call))),
    },
    {
      method: 'DELETE',
      path: '/v1/operator/ca/rotate',
      summary: 'Goes back to the root from before the rotation under way',
      answer: authoritySchema,
      handle: async (call) => jsonAnswer(call, await rotateBack(trust, asked(call))),
    },
  ];
}
