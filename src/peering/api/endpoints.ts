/** The endpoints of peerings. Each reads the request and calls one operation. */
import { Type } from 'typebox';
import { type RequestContext, requestContextOf } from '../../credentials/caller.ts';
import type { BlockingQueries, Evaluate } from '../../http/blocking/blocking-query.ts';
import { FILTERED_HEADER } from '../../http/blocking/read-protocol.ts';
import { type Answer, type Call, disconnectSignal, emptyAnswer, pathParameter } from '../../http/call.ts';
import type { Endpoint } from '../../http/endpoint.ts';
import { jsonAnswer } from '../../http/v1/json-answer.ts';
import { PARTITION_OR_ALL } from '../../http/v1/parameters.ts';
import { parseBody } from '../../http/v1/parse-body.ts';
import { establishRequestSchema, tokenRequestSchema } from '../bodies.ts';
import { peeringQuery } from '../find/find-peering.ts';
import type { PeeringService } from '../peering-context.ts';
import {
  createRecordJsonCache,
  type RecordJsonCache,
  recordListSchema,
  recordSchema,
} from '../record/record-to-json.ts';
import { deletePeering } from './delete-peering.ts';
import { establish } from './establish.ts';
import { generateToken } from './generate-token.ts';
import { peeringExportsSchema, readPeeringExports } from './list-exported-to-peer.ts';
import { peeringImportsSchema, readPeeringImports } from './list-imported-from-peer.ts';
import { listParameters, listPeerings, readListFilter } from './list-peerings.ts';
import { readToken, revokeToken, tokenStatusSchema } from './peering-token.ts';

export function peeringEndpoints(service: PeeringService, reads: BlockingQueries): Endpoint[] {
  const { consul } = service;
  const records = createRecordJsonCache(service.streams, consul);
  const context = (call: Call): RequestContext => requestContextOf(call, consul);
  return [
    {
      method: 'POST',
      path: '/v1/peering/token',
      summary: 'Generates a peering token',
      body: tokenRequestSchema,
      answer: Type.Object({ PeeringToken: Type.String() }),
      async handle(call) {
        const body = parseBody(tokenRequestSchema, call.body);
        return jsonAnswer(call, await generateToken(service, context(call), body, disconnectSignal(call)));
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
        await establish(service, context(call), body, disconnectSignal(call));
        return jsonAnswer(call, {});
      },
    },
    {
      method: 'GET',
      path: '/v1/peering/:name',
      summary: 'Reads a peering',
      blocking: true,
      answer: recordSchema(consul),
      handle: (call) => reads.answer(call, readPeering(service, records, context(call), pathParameter(call, 'name'))),
    },
    {
      method: 'DELETE',
      path: '/v1/peering/:name',
      summary: 'Deletes a peering and removes its data in the background',
      handle: (call) => emptyAfter(deletePeering(service, context(call), pathParameter(call, 'name'))),
    },
    {
      method: 'GET',
      path: '/v1/peering/:name/token',
      summary: 'Reads the status of the unused token of a peering',
      blocking: true,
      answer: tokenStatusSchema,
      handle: (call) => reads.answer(call, readToken(service, context(call), pathParameter(call, 'name'))),
    },
    {
      method: 'DELETE',
      path: '/v1/peering/:name/token',
      summary: 'Revokes the unused token of a peering',
      handle: (call) => emptyAfter(revokeToken(service, context(call), pathParameter(call, 'name'))),
    },
    {
      method: 'GET',
      path: '/v1/peering/:name/exported-services',
      summary: 'Lists the services exported to a peer, and those too large to send',
      blocking: true,
      answer: peeringExportsSchema,
      handle: (call) => reads.answer(call, readPeeringExports(service, context(call), pathParameter(call, 'name'))),
    },
    {
      method: 'GET',
      path: '/v1/peering/:name/imported-services',
      summary: 'Lists the services imported from a peer, and those rejected',
      blocking: true,
      answer: peeringImportsSchema,
      handle: (call) => reads.answer(call, readPeeringImports(service, context(call), pathParameter(call, 'name'))),
    },
    {
      method: 'GET',
      path: '/v1/peerings',
      summary: 'Lists peerings',
      blocking: true,
      cacheable: true,
      query: [PARTITION_OR_ALL, ...listParameters(consul)],
      answer: recordListSchema(consul),
      answerHeaders: [FILTERED_HEADER],
      handle: (call) =>
        reads.answer(call, listPeerings(service, records, context(call), readListFilter(call.query, consul)), {
          cacheable: true,
        }),
    },
  ];
}

const emptyAfter = async (operation: Promise<void>): Promise<Answer> => {
  await operation;
  return emptyAnswer;
};

const readPeering = (
  service: PeeringService,
  records: RecordJsonCache,
  context: RequestContext,
  name: string,
): Evaluate =>
  peeringQuery(service, { context, name, access: 'read' }, (stored) => ({ body: () => records.read(stored) }));
