/** The body of `PUT /v1/config` and `POST /v1/config/preview`. */
import { type Static, Type } from 'typebox';
import { ServiceError } from '../../../http/errors.ts';
import { QUOTED_LENGTH_MAX } from '../../../http/limits.ts';
import { checkBody, checkBodyInSlices, parseJsonBody } from '../../../http/v1/parse-body.ts';
import type { Steps } from '../../../state/clock/slices.ts';
import { required } from '../../bodies.ts';
import { KINDS, type Kind } from '../config-entry.ts';
import { DESCRIPTION_CHARACTERS_MAX } from '../limits.ts';

const partition = Type.Optional(Type.String());

const common = {
  Partition: partition,
  Meta: Type.Optional(Type.Record(Type.String(), Type.String())),
  // Accepted so that an entry that was read can be written back unchanged ([SVC-64]).
  CreateIndex: Type.Optional(Type.Integer({ description: 'Ignored.' })),
  ModifyIndex: Type.Optional(Type.Integer({ description: 'Ignored. For a conditional write use cas.' })),
};

const exportedServicesBody = Type.Object(
  {
    Kind: Type.Literal('exported-services'),
    Name: Type.Optional(Type.String({ description: 'Required. The name of the partition.' })),
    ...common,
    Services: Type.Array(
      Type.Object(
        {
          Name: Type.String({ description: 'A service, or * for all services without a line of their own.' }),
          Consumers: Type.Array(
            Type.Object(
              { Peer: Type.Optional(Type.String()), Partition: partition },
              { description: 'Exactly one of the two.', additionalProperties: false },
            ),
          ),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { title: 'NewExportedServices', additionalProperties: false },
);
export type ExportedServicesBody = Static<typeof exportedServicesBody>;

const serviceIntentionsBody = Type.Object(
  {
    Kind: Type.Literal('service-intentions'),
    Name: Type.Optional(Type.String({ description: 'Required. The destination: a service, or * for all.' })),
    ...common,
    Sources: Type.Array(
      Type.Object(
        {
          Name: Type.String({ description: 'A service, or * for all.' }),
          Peer: Type.Optional(Type.String({ description: 'The peer of the source. Absent: this cluster.' })),
          Partition: partition,
          Action: Type.Enum(['allow', 'deny']),
          Description: Type.Optional(Type.String({ maxLength: DESCRIPTION_CHARACTERS_MAX })),
          Precedence: Type.Optional(Type.Integer({ description: 'Ignored, because it follows from the names.' })),
          Type: Type.Optional(Type.Enum(['', 'consul'], { description: 'For clients of Consul.' })),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { title: 'NewServiceIntentions', additionalProperties: false },
);
export type ServiceIntentionsBody = Static<typeof serviceIntentionsBody>;

export type EntryBody = ExportedServicesBody | ServiceIntentionsBody;

export const entryBodySchema = Type.Union([exportedServicesBody, serviceIntentionsBody]);

const kindOnly = Type.Object({ Kind: Type.Optional(Type.String()) }, { additionalProperties: true });

export type NamedBody = EntryBody & { readonly Name: string };

/** Parses the body with the schema of its `Kind`. @throws ServiceError `bad-request` */
export function* readEntryBody(bytes: Uint8Array): Steps<NamedBody> {
  const doing = 'writing a configuration entry';
  const value = parseJsonBody(bytes);
  yield;
  const kind = checkKind(required(checkBody(kindOnly, value).Kind, 'Kind', doing));
  const body =
    kind === 'exported-services'
      ? yield* checkBodyInSlices(exportedServicesBody, value)
      : yield* checkBodyInSlices(serviceIntentionsBody, value);
  return { ...body, Name: required(body.Name, 'Name', doing) };
}

/** Returns the kind if it exists ([SVC-61]). @throws ServiceError `bad-request` */
export function checkKind(kind: string): Kind {
  const known = KINDS.find((one) => one === kind);
  if (known !== undefined) return known;
  const wanted = KINDS.map((one) => `"${one}"`).join(' or ');
  throw new ServiceError(
    'bad-request',
    `Kind: want ${wanted}, got ${JSON.stringify(kind.slice(0, QUOTED_LENGTH_MAX))}`,
  );
}
