/** The endpoints of configuration entries and of what follows from them. */
import { Type } from 'typebox';
import type { Asked, Credentials } from '../../../credentials/operation.ts';
import { askedBy } from '../../../credentials/request-context.ts';
import { FILTERED } from '../../../http/blocking/read-headers.ts';
import type { Reads } from '../../../http/blocking/reads.ts';
import { type Call, pathParameter } from '../../../http/call.ts';
import type { Endpoint } from '../../../http/endpoint.ts';
import type { Parameter } from '../../../http/parameter.ts';
import { jsonAnswer } from '../../../http/v1/json-answer.ts';
import { PARTITION_OR_ALL } from '../../../http/v1/parameters.ts';
import { checkKind, entryBodySchema, readEntryBody } from '../edit/entry-body.ts';
import { shownEntrySchema } from '../entry-to-json.ts';
import { checkIntention, intentionCheckSchema } from './check-intention.ts';
import { CAS, readCas } from './compare-and-set.ts';
import { deleteEntry } from './delete-entry.ts';
import { ATTEMPT } from './intention-query.ts';
import { listEntries } from './list-entries.ts';
import { exportedListSchema, listExported } from './list-exported.ts';
import { importedListSchema, listImported } from './list-imported.ts';
import { intentionMatchSchema, MATCH, matchIntentions } from './match-intentions.ts';
import { previewEntry, previewSchema } from './preview-entry.ts';
import { readEntry } from './read-entry.ts';
import { writeEntry } from './write-entry.ts';

export interface EntryEndpoints {
  readonly credentials: Credentials;
  readonly reads: Reads;
  /** `compat = consul`: also takes `X-Consul-Token`. */
  readonly consul: boolean;
}

const WARNING: Parameter = {
  name: 'X-Service-Warning',
  description: 'What may not have been meant, such as a peer that does not exist yet.',
  schema: Type.String(),
};

const DONE = Type.Boolean({ description: 'false: cas did not hold, and nothing was changed.' });

/** `/v1/config…`, `/v1/exported-services`, `/v1/imported-services`, `/v1/connect/intentions/…`. */
export function entryEndpoints({ credentials, reads, consul }: EntryEndpoints): Endpoint[] {
  const asked = (call: Call): Asked => askedBy(call, consul);
  return [
    {
      method: 'PUT',
      path: '/v1/config',
      summary: 'Makes a configuration entry or replaces it',
      query: [CAS],
      body: entryBodySchema,
      answer: DONE,
      answerHeaders: [WARNING],
      async handle(call) {
        const cas = readCas(call.query);
        const { done, warning } = await writeEntry(credentials, asked(call), readEntryBody(call.body), cas);
        return jsonAnswer(call, done, { headers: warnings(warning) });
      },
    },
    {
      method: 'POST',
      path: '/v1/config/preview',
      summary: 'Tells what a configuration entry would change, without writing it',
      body: entryBodySchema,
      answer: previewSchema,
      answerHeaders: [WARNING],
      async handle(call) {
        const { shown, warning } = await previewEntry(credentials, asked(call), readEntryBody(call.body));
        return jsonAnswer(call, shown, { headers: warnings(warning) });
      },
    },
    {
      method: 'GET',
      path: '/v1/config/:kind',
      summary: 'Lists the configuration entries of a kind',
      blocking: true,
      query: [PARTITION_OR_ALL],
      answer: Type.Array(shownEntrySchema),
      answerHeaders: [FILTERED],
      handle: (call) => reads.answer(call, listEntries(credentials, asked(call), kindOf(call))),
    },
    {
      method: 'GET',
      path: '/v1/config/:kind/:name',
      summary: 'Reads a configuration entry',
      blocking: true,
      answer: shownEntrySchema,
      handle: (call) => reads.answer(call, readEntry(credentials, asked(call), entryAt(call))),
    },
    {
      method: 'DELETE',
      path: '/v1/config/:kind/:name',
      summary: 'Deletes a configuration entry',
      query: [CAS],
      answer: DONE,
      async handle(call) {
        const cas = readCas(call.query);
        return jsonAnswer(call, await deleteEntry(credentials, asked(call), entryAt(call), cas));
      },
    },
    {
      method: 'GET',
      path: '/v1/exported-services',
      summary: 'Lists what is exported, and to whom',
      blocking: true,
      query: [PARTITION_OR_ALL],
      answer: exportedListSchema,
      answerHeaders: [FILTERED],
      handle: (call) => reads.answer(call, listExported(credentials, asked(call))),
    },
    {
      method: 'GET',
      path: '/v1/imported-services',
      summary: 'Lists what came from peers',
      blocking: true,
      query: [PARTITION_OR_ALL],
      answer: importedListSchema,
      answerHeaders: [FILTERED],
      handle: (call) => reads.answer(call, listImported(credentials, asked(call))),
    },
    {
      method: 'GET',
      path: '/v1/connect/intentions/check',
      summary: 'Tells whether a service may call another, and what decides',
      blocking: true,
      query: ATTEMPT,
      answer: intentionCheckSchema,
      handle: (call) => reads.answer(call, checkIntention(credentials, asked(call), call.query)),
    },
    {
      method: 'GET',
      path: '/v1/connect/intentions/match',
      summary: 'Lists the intentions of sources or destinations, the first to decide first',
      blocking: true,
      query: MATCH,
      answer: intentionMatchSchema,
      answerHeaders: [FILTERED],
      handle: (call) => reads.answer(call, matchIntentions(credentials, asked(call), call)),
    },
  ];
}

const kindOf = (call: Call) => checkKind(pathParameter(call, 'kind'));

const entryAt = (call: Call) => ({ kind: kindOf(call), name: pathParameter(call, 'name') });

const warnings = (warning: string | undefined): readonly string[] =>
  warning === undefined ? [] : [WARNING.name, warning];
