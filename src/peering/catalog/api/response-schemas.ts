/** The response schemas of the catalog endpoints, for the OpenAPI description. */
import { type TSchema, Type } from 'typebox';
import { CHECK_STATUSES } from '../tables/check.ts';
import { checkDefinitionSchema } from '../tables/check-definition.ts';

const textMap = Type.Record(Type.String(), Type.String());
const index = Type.Integer({ minimum: 1 });
const place = {
  Partition: Type.String(),
  PeerName: Type.Optional(Type.String({ description: 'The peer that exports it. Imported items cannot be changed.' })),
};
const indexes = { CreateIndex: index, ModifyIndex: index };
const taggedAddresses = Type.Record(Type.String(), Type.Object({ Address: Type.String(), Port: Type.Integer() }));
const weights = Type.Object({ Passing: Type.Integer(), Warning: Type.Integer() });
const node = {
  ID: Type.String({ description: 'As registered, or empty.' }),
  Node: Type.String(),
  Address: Type.String(),
  Datacenter: Type.String(),
  ...place,
  TaggedAddresses: textMap,
};

export const nodeSchema: TSchema = Type.Object({ ...node, Meta: textMap, ...indexes }, { title: 'CatalogNode' });

export const serviceSchema: TSchema = Type.Object(
  {
    Kind: Type.Optional(Type.String()),
    ID: Type.String(),
    Service: Type.String({ description: 'The name.' }),
    Tags: Type.Array(Type.String()),
    Meta: textMap,
    Port: Type.Integer(),
    Address: Type.String({ description: 'Empty if the service has the address of the node.' }),
    SocketPath: Type.Optional(Type.String()),
    TaggedAddresses: taggedAddresses,
    Weights: weights,
    EnableTagOverride: Type.Boolean(),
    Connect: Type.Optional(
      Type.Object({
        Native: Type.Boolean(),
        PeerMeta: Type.Object({
          SNI: Type.Array(Type.String()),
          SpiffeID: Type.Array(Type.String()),
          Protocol: Type.String(),
        }),
      }),
    ),
    Datacenter: Type.String(),
    ...place,
    ...indexes,
  },
  { title: 'NodeService' },
);

export const catalogServiceSchema: TSchema = Type.Object(
  {
    ...node,
    NodeMeta: textMap,
    ServiceID: Type.String(),
    ServiceName: Type.String(),
    ServiceKind: Type.Optional(Type.String()),
    ServiceAddress: Type.String({ description: 'Empty if the service has the address of the node.' }),
    ServicePort: Type.Integer(),
    ServiceSocketPath: Type.Optional(Type.String()),
    ServiceTags: Type.Array(Type.String()),
    ServiceMeta: textMap,
    ServiceTaggedAddresses: taggedAddresses,
    ServiceWeights: weights,
    ServiceEnableTagOverride: Type.Boolean(),
    ...indexes,
  },
  { title: 'CatalogService' },
);

export const checkSchema: TSchema = Type.Object(
  {
    Node: Type.String(),
    CheckID: Type.String(),
    Name: Type.String(),
    Status: Type.Union([...CHECK_STATUSES, 'maintenance'].map((status) => Type.Literal(status))),
    Notes: Type.String(),
    Output: Type.String(),
    ServiceID: Type.String({ description: 'Empty for a check of the whole node.' }),
    ServiceName: Type.String(),
    ServiceTags: Type.Array(Type.String()),
    Type: Type.String(),
    ...place,
    Definition: checkDefinitionSchema,
    ...indexes,
  },
  { title: 'HealthCheck' },
);

/** Always `true`. */
export const doneSchema: TSchema = Type.Literal(true);
export const serviceNamesSchema: TSchema = Type.Record(Type.String(), Type.Array(Type.String()), {
  description: 'The tags of each service by its name.',
});
export const catalogServicesSchema: TSchema = Type.Array(catalogServiceSchema);
export const nodesSchema: TSchema = Type.Array(nodeSchema);
export const nodeServicesSchema: TSchema = Type.Union(
  [Type.Object({ Node: nodeSchema, Services: Type.Record(Type.String(), serviceSchema) }), Type.Null()],
  { description: 'A node with its services by ID, or null if it is missing.' },
);
export const serviceEntrySchema: TSchema = Type.Object(
  { Node: nodeSchema, Service: serviceSchema, Checks: Type.Array(checkSchema) },
  { title: 'ServiceEntry' },
);
export const healthSchema: TSchema = Type.Array(serviceEntrySchema);
export const checksSchema: TSchema = Type.Array(checkSchema);
export const agentServicesSchema: TSchema = Type.Record(Type.String(), serviceSchema, { description: 'By ID.' });
export const agentChecksSchema: TSchema = Type.Record(Type.String(), checkSchema, { description: 'By ID.' });
