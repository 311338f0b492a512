/** The endpoints of peerings: who asks is read from the request here, everything else is in the operations. */
import { Type } from 'typebox';
import type { Asked } from '../../credentials/operation.ts';
import { askedBy } from '../../credentials/request-context.ts';
import { type Answer, emptyAnswer } from '../../http/answer.ts';
import { FILTERED } from '../../http/blocking/read-headers.ts';
import type { Reads } from '../../http/blocking/reads.ts';
import { type Call, callerSignal, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { jsonAnswer } from '../../http/v1/json-answer.ts';
import { PARTITION_OR_ALL } from '../../http/v1/parameters.ts';
import { parseBody } from '../../http/v1/parse-body.ts';
import { establishRequestSchema, tokenRequestSchema } from '../bodies.ts';
import type { PeeringService } from '../peering-context.ts';
import { createRecordTexts } from '../record/record-to-json.ts';
import { deletePeering } from './delete-peering.ts';
import { establish } from './establish.ts';
import { generateToken } from './generate-token.ts';
import { peeringExportsSchema, readPeeringExports } from './list-exported-to-peer.ts';
import { peeringImportsSchema, readPeeringImports } from './list-imported-from-peer.ts';
import { listParameters, readListPage } from './list-page.ts';
import { listPeerings } from './list-peerings.ts';
import { readPeering } from './read-peering.ts';
import { readToken, tokenStatusSchema } from './read-token.ts';
import { recordListSchema, recordSchema } from './record-schema.ts';
import { revokeToken } from './revoke-token.ts';

/** `/v1/peering…` and `/v1/peerings`. */
export function peeringEndpoints(service: PeeringService, reads: Reads): Endpoint[] {
  const { consul } = service;
  const texts = createRecordTexts(service.streams, consul);
  const asked = (call: Call): Asked => askedBy(call, consul);
  return [
    {
      method: 'POST',
      path: '/v1/peering/token',
      summary: 'Generates a peering token',
      body: tokenRequestSchema,
      answer: Type.Object({ PeeringToken: Type.String() }),
      async handle(call) {
        const body = parseBody(tokenRequestSchema, call.body);
        return jsonAnswer(call, await generateToken(service, asked(call), body, callerSignal(call)));
      },
    },
    {
      method: 'POST',
      path: '/v1/peering/establish',
      summary: 'Establishes a peering with the cluster that generated a token',
      body: establishRequestSchema,
      answer: Type.Object({}),
      async handle(call) {
        const body = parseBody(establishRequestSchema, call.body);
        await establish(service, asked(call), body, callerSignal(call));
        return jsonAnswer(call, {});
      },
    },
    {
      method: 'GET',
      path: '/v1/peering/:name',
      summary: 'Reads a peering',
      blocking: true,
      answer: recordSchema(consul),
      handle: (call) => reads.answer(call, readPeering(service, texts, asked(call), pathParameter(call, 'name'))),
    },
    {
      method: 'DELETE',
      path: '/v1/peering/:name',
      summary: 'Deletes a peering; its data is removed in the background',
      handle: (call) => done(deletePeering(service, asked(call), pathParameter(call, 'name'))),
    },
    {
      method: 'GET',
      path: '/v1/peering/:name/token',
      summary: 'Tells whether an unused token of a peering is out, never the token',
      blocking: true,
      answer: tokenStatusSchema,
      handle: (call) => reads.answer(call, readToken(service, asked(call), pathParameter(call, 'name'))),
    },
    {
      method: 'DELETE',
      path: '/v1/peering/:name/token',
      summary: 'Revokes the unused token of a peering',
      handle: (call) => done(revokeToken(service, asked(call), pathParameter(call, 'name'))),
    },
    {
      method: 'GET',
      path: '/v1/peering/:name/exported-services',
      summary: 'Lists what a peer gets, and what of it is too large to be sent',
      blocking: true,
      answer: peeringExportsSchema,
      handle: (call) => reads.answer(call, readPeeringExports(service, asked(call), pathParameter(call, 'name'))),
    },
    {
      method: 'GET',
      path: '/v1/peering/:name/imported-services',
      summary: 'Lists what came from a peer, and what of it could not be taken',
      blocking: true,
      answer: peeringImportsSchema,
      handle: (call) => reads.answer(call, readPeeringImports(service, asked(call), pathParameter(call, 'name'))),
    },
    {
      method: 'GET',
      path: '/v1/peerings',
      summary: 'Lists peerings',
      blocking: true,
      cacheable: true,
      query: [PARTITION_OR_ALL, ...listParameters(consul)],
      answer: recordListSchema(consul),
      answerHeaders: [FILTERED],
      handle: (call) =>
        reads.answer(call, listPeerings(service, texts, asked(call), readListPage(call.query, consul)), {
          cacheable: true,
        }),
    },
  ];
}

const done = async (operation: Promise<void>): Promise<Answer> => {
  await operation;
  return emptyAnswer;
};
