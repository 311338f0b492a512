/**
 * The request bodies of the catalog. The schemas accept every field that Consul's clients send, including indexes and
 * hashes, which the server ignores.
 */
import { type Static, Type } from 'typebox';
import { checkDefinitionSchema } from '../tables/check-definition.ts';

const text = Type.Optional(Type.String());
const ignored = { description: 'Ignored.' };
const ignoredNumber = Type.Optional(Type.Integer(ignored));
const meta = Type.Optional(Type.Record(Type.String(), Type.String()));
const partition = text;
const namespace = Type.Optional(Type.String({ description: 'Empty or default.' }));
const peerName = Type.Optional(Type.String({ description: 'Rejected, because imported services cannot be changed.' }));

export const taggedAddressesSchema = Type.Optional(
  Type.Record(
    Type.String(),
    Type.Object({ Address: text, Port: Type.Optional(Type.Integer()) }, { additionalProperties: false }),
  ),
);

export const weightsSchema = Type.Optional(
  Type.Object(
    { Passing: Type.Optional(Type.Integer()), Warning: Type.Optional(Type.Integer()) },
    { additionalProperties: false },
  ),
);

const serviceSchema = Type.Object(
  {
    ID: Type.Optional(Type.String({ description: 'Defaults to the name. Unique on the node.' })),
    Service: Type.Optional(Type.String({ description: 'Required. The name.' })),
    Kind: text,
    Tags: Type.Optional(Type.Array(Type.String())),
    Address: Type.Optional(Type.String({ description: 'Defaults to the address of the node.' })),
    Port: Type.Optional(Type.Integer()),
    SocketPath: text,
    Meta: meta,
    Weights: weightsSchema,
    TaggedAddresses: taggedAddressesSchema,
    EnableTagOverride: Type.Optional(Type.Boolean(ignored)),
    Namespace: namespace,
    Partition: partition,
    PeerName: peerName,
    Datacenter: Type.Optional(Type.String(ignored)),
    ContentHash: Type.Optional(Type.String(ignored)),
    CreateIndex: ignoredNumber,
    ModifyIndex: ignoredNumber,
  },
  { additionalProperties: false },
);

const checkSchema = Type.Object(
  {
    Node: Type.Optional(Type.String({ description: 'Defaults to the node of the request.' })),
    CheckID: Type.Optional(Type.String({ description: 'Defaults to the name.' })),
    Name: text,
    Status: Type.Optional(Type.String({ description: 'passing, warning or critical. Defaults to critical.' })),
    ServiceID: Type.Optional(Type.String({ description: 'Empty for a check of the whole node.' })),
    ServiceName: Type.Optional(Type.String(ignored)),
    ServiceTags: Type.Optional(Type.Array(Type.String(), ignored)),
    Notes: text,
    Output: text,
    Type: text,
    Definition: Type.Optional(checkDefinitionSchema),
    ExposedPort: ignoredNumber,
    Interval: Type.Optional(Type.String(ignored)),
    Timeout: Type.Optional(Type.String(ignored)),
    Namespace: namespace,
    Partition: partition,
    PeerName: peerName,
    CreateIndex: ignoredNumber,
    ModifyIndex: ignoredNumber,
  },
  { additionalProperties: false },
);

export const registrationSchema = Type.Object(
  {
    ID: Type.Optional(Type.String({ description: 'A UUID.' })),
    Node: Type.Optional(Type.String({ description: 'Required.' })),
    Address: Type.Optional(Type.String({ description: 'Required without SkipNodeUpdate.' })),
    Datacenter: Type.Optional(Type.String({ description: 'Empty or the datacenter of this cluster.' })),
    Partition: partition,
    Namespace: namespace,
    PeerName: peerName,
    TaggedAddresses: meta,
    NodeMeta: meta,
    Service: Type.Optional(serviceSchema),
    Check: Type.Optional(checkSchema),
    Checks: Type.Optional(Type.Array(checkSchema)),
    SkipNodeUpdate: Type.Optional(Type.Boolean({ description: 'Does not change an existing node.' })),
  },
  { additionalProperties: false },
);
export type RegistrationBody = Static<typeof registrationSchema>;
export type ServiceBody = NonNullable<RegistrationBody['Service']>;
export type CheckBody = NonNullable<RegistrationBody['Check']>;

export const deregistrationSchema = Type.Object(
  {
    Node: Type.Optional(Type.String({ description: 'Required.' })),
    Address: Type.Optional(Type.String(ignored)),
    Datacenter: Type.Optional(Type.String({ description: 'Empty or the datacenter of this cluster.' })),
    ServiceID: Type.Optional(Type.String({ description: 'Deregisters only this service and its checks.' })),
    CheckID: Type.Optional(Type.String({ description: 'Deregisters only this check.' })),
    Namespace: namespace,
    Partition: partition,
    PeerName: peerName,
  },
  { additionalProperties: false },
);
export type DeregistrationBody = Static<typeof deregistrationSchema>;
