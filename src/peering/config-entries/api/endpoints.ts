/** The endpoints of configuration entries, exported and imported services, and intentions ([SVC-1]). */
import { Type } from 'typebox';
import {
  beginLargeRequest,
  type Credentials,
  type RequestContext,
  requestContextOf,
} from '../../../credentials/caller.ts';
import type { BlockingQueries } from '../../../http/blocking/blocking-query.ts';
import { FILTERED_HEADER } from '../../../http/blocking/read-protocol.ts';
import { type Call, checkConnected, pathParameter } from '../../../http/call.ts';
import type { Endpoint } from '../../../http/endpoint.ts';
import { FILTER, readFilter } from '../../../http/filter/filter-parameter.ts';
import type { Parameter } from '../../../http/parameter.ts';
import { jsonAnswer } from '../../../http/v1/json-answer.ts';
import { PARTITION_OR_ALL } from '../../../http/v1/parameters.ts';
import { runInSlices } from '../../../state/clock/slices.ts';
import { checkKind, entryBodySchema, type NamedBody, readEntryBody } from '../edit/entry-body.ts';
import { entrySchema } from '../entry-to-json.ts';
import { LARGE_ENTRY_BYTES } from '../limits.ts';
import { checkIntention, intentionCheckSchema } from './check-intention.ts';
import { SERVICE_CALL } from './intention-query.ts';
import { exportedListSchema, listExported } from './list-exported.ts';
import { importedListSchema, listImported } from './list-imported.ts';
import { intentionMatchSchema, MATCH, matchIntentions } from './match-intentions.ts';
import { previewEntry, previewSchema } from './preview-entry.ts';
import { listEntries, readEntry } from './read-entries.ts';
import { CAS, deleteEntry, readCas, writeEntry } from './write-entry.ts';

export interface EntryEndpointOptions {
  readonly credentials: Credentials;
  readonly reads: BlockingQueries;
  /** Whether `compat` is `consul`, which also accepts `X-Consul-Token`. */
  readonly consul: boolean;
}

const WARNING: Parameter = {
  name: 'X-Service-Warning',
  description: 'A likely mistake, such as a peer that does not exist yet.',
  schema: Type.String(),
};

const DONE = Type.Boolean({ description: 'false if the condition of cas failed and nothing was changed.' });

export function entryEndpoints({ credentials, reads, consul }: EntryEndpointOptions): Endpoint[] {
  const contextOf = (call: Call): RequestContext => requestContextOf(call, consul);
  /** Each caller writes or previews one large entry at a time. */
  const beginEntry = (call: Call): Disposable | undefined =>
    call.body.length > LARGE_ENTRY_BYTES ? beginLargeRequest(credentials, contextOf(call)) : undefined;
  const parse = (call: Call): NamedBody | Promise<NamedBody> =>
    runInSlices({ begin: () => readEntryBody(call.body), check: () => checkConnected(call) });
  return [
    {
      method: 'PUT',
      path: '/v1/config',
      summary: 'Creates or replaces a configuration entry',
      query: [CAS],
      body: entryBodySchema,
      answer: DONE,
      answerHeaders: [WARNING],
      async handle(call) {
        const cas = readCas(call.query);
        using _request = beginEntry(call);
        const { done, warning } = await writeEntry(credentials, contextOf(call), await parse(call), cas);
        return jsonAnswer(call, done, { headers: warnings(warning) });
      },
    },
    {
      method: 'POST',
      path: '/v1/config/preview',
      summary: 'Returns what a configuration entry would change, without writing it',
      body: entryBodySchema,
      answer: previewSchema,
      answerHeaders: [WARNING],
      async handle(call) {
        using _request = beginEntry(call);
        const { json, warning } = await previewEntry(credentials, call, contextOf(call), await parse(call));
        return jsonAnswer(call, json, { headers: warnings(warning) });
      },
    },
    {
      method: 'GET',
      path: '/v1/config/:kind',
      summary: 'Lists the configuration entries of a kind',
      blocking: true,
      query: [PARTITION_OR_ALL, FILTER],
      answer: Type.Array(entrySchema),
      answerHeaders: [FILTERED_HEADER],
      handle: (call) =>
        reads.answer(
          call,
          listEntries(credentials, contextOf(call), kindOf(call), readFilter(call.query, entrySchema)),
        ),
    },
    {
      method: 'GET',
      path: '/v1/config/:kind/:name',
      summary: 'Reads a configuration entry',
      blocking: true,
      answer: entrySchema,
      handle: (call) => reads.answer(call, readEntry(credentials, contextOf(call), entryAt(call))),
    },
    {
      method: 'DELETE',
      path: '/v1/config/:kind/:name',
      summary: 'Deletes a configuration entry',
      query: [CAS],
      answer: DONE,
      async handle(call) {
        const cas = readCas(call.query);
        return jsonAnswer(call, await deleteEntry(credentials, contextOf(call), entryAt(call), cas));
      },
    },
    {
      method: 'GET',
      path: '/v1/exported-services',
      summary: 'Lists the exported services with their consumers',
      blocking: true,
      query: [PARTITION_OR_ALL],
      answer: exportedListSchema,
      answerHeaders: [FILTERED_HEADER],
      handle: (call) => reads.answer(call, listExported(credentials, contextOf(call))),
    },
    {
      method: 'GET',
      path: '/v1/imported-services',
      summary: 'Lists the imported services',
      blocking: true,
      query: [PARTITION_OR_ALL],
      answer: importedListSchema,
      answerHeaders: [FILTERED_HEADER],
      handle: (call) => reads.answer(call, listImported(credentials, contextOf(call))),
    },
    {
      method: 'GET',
      path: '/v1/connect/intentions/check',
      summary: 'Returns whether a service may call another, and why',
      blocking: true,
      query: SERVICE_CALL,
      answer: intentionCheckSchema,
      handle: (call) => reads.answer(call, checkIntention(credentials, contextOf(call), call.query)),
    },
    {
      method: 'GET',
      path: '/v1/connect/intentions/match',
      summary: 'Lists the intentions of sources or destinations in the order in which they decide',
      blocking: true,
      query: MATCH,
      answer: intentionMatchSchema,
      answerHeaders: [FILTERED_HEADER],
      handle: (call) => reads.answer(call, matchIntentions(credentials, contextOf(call), call)),
    },
  ];
}

const kindOf = (call: Call) => checkKind(pathParameter(call, 'kind'));

const entryAt = (call: Call) => ({ kind: kindOf(call), name: pathParameter(call, 'name') });

const warnings = (warning: string | undefined): readonly string[] =>
  warning === undefined ? [] : [WARNING.name, warning];
