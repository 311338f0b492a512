/** Schemas of the request bodies of the peering API. */
import { type Static, Type } from 'typebox';
import { ServiceError } from '../http/errors.ts';

const name = Type.Optional(Type.String({ description: 'Required. A DNS label.' }));
const partition = Type.Optional(Type.String());
const meta = Type.Optional(Type.Record(Type.String(), Type.String()));

export const tokenRequestSchema = Type.Object(
  {
    PeerName: name,
    Partition: partition,
    ServerExternalAddresses: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Addresses at which other clusters reach this one, each host:port.',
      }),
    ),
    Meta: meta,
  },
  { additionalProperties: false },
);
export type TokenRequest = Static<typeof tokenRequestSchema>;

export const establishRequestSchema = Type.Object(
  {
    PeerName: name,
    PeeringToken: Type.Optional(Type.String({ description: 'Required. The token that the other cluster generated.' })),
    Partition: partition,
    Meta: meta,
  },
  { additionalProperties: false },
);
export type EstablishRequest = Static<typeof establishRequestSchema>;

/** Returns `value`. @throws ServiceError `bad-request` when it is absent or empty */
export function required(value: string | undefined, field: string, doing: string): string {
  if (value !== undefined && value !== '') return value;
  throw new ServiceError('bad-request', `${field} is required in the payload when ${doing}.`);
}
