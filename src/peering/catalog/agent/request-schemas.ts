/** The request bodies of the local agent. The fields are those of Consul's clients. */
import { type Static, type TSchema, Type } from 'typebox';
import { taggedAddressesSchema, weightsSchema } from '../api/request-schemas.ts';

const text = Type.Optional(Type.String());

/** The fields of checks that Consul's agent runs itself. Here services report their own status ([SVC-48]). */
const UNSUPPORTED_FIELDS = [
  ...['HTTP', 'TCP', 'UDP', 'GRPC', 'H2PING', 'OSService', 'Args', 'ScriptArgs', 'DockerContainerID', 'AliasService'],
  ...['AliasNode', 'Interval', 'Timeout', 'Header', 'Method', 'Body', 'Shell', 'TLSServerName', 'TLSSkipVerify'],
  ...['TCPUseTLS', 'GRPCUseTLS', 'H2PingUseTLS', 'DisableRedirects', 'SuccessBeforePassing'],
  ...['FailuresBeforeWarning', 'FailuresBeforeCritical'],
] as const;

export const UNSUPPORTED_CHECK_FIELDS: ReadonlySet<string> = new Set(UNSUPPORTED_FIELDS);

const unsupportedFields: Record<string, TSchema> = Object.fromEntries(
  UNSUPPORTED_FIELDS.map((field) => [field, Type.Optional(Type.Unknown({ description: 'Rejected. Use TTL.' }))]),
);

const checkFields = {
  CheckID: Type.Optional(
    Type.String({ description: 'Defaults to service:<ID>. Unique among the checks of this server.' }),
  ),
  Name: text,
  TTL: Type.Optional(
    Type.String({ description: 'Required. How long after a report the check becomes critical, such as 30s.' }),
  ),
  Status: Type.Optional(
    Type.String({
      description: 'passing, warning or critical. A new check defaults to critical; an existing one keeps its status.',
    }),
  ),
  Notes: text,
  DeregisterCriticalServiceAfter: Type.Optional(
    Type.String({
      description:
        'How long the check may be critical before the service is removed, such as 10m. 0s or absent means never.',
    }),
  ),
};

// The type omits the rejected fields, because only the validation reads them.
const checkSchema = Type.Object({ ...unsupportedFields, ...checkFields } as typeof checkFields, {
  additionalProperties: false,
});

export const agentServiceSchema = Type.Object(
  {
    ID: Type.Optional(Type.String({ description: 'Defaults to the name. Unique among the services of this server.' })),
    Name: Type.Optional(Type.String({ description: 'Required.' })),
    Kind: text,
    Tags: Type.Optional(Type.Array(Type.String())),
    Address: Type.Optional(
      Type.String({
        description: 'Defaults to the address of the server. Required if the server listens on a wildcard address.',
      }),
    ),
    Port: Type.Optional(Type.Integer()),
    SocketPath: text,
    Meta: Type.Optional(Type.Record(Type.String(), Type.String())),
    Weights: weightsSchema,
    TaggedAddresses: taggedAddressesSchema,
    EnableTagOverride: Type.Optional(Type.Boolean({ description: 'Ignored.' })),
    Check: Type.Optional(checkSchema),
    Checks: Type.Optional(Type.Array(checkSchema)),
    Namespace: Type.Optional(Type.String({ description: 'Empty or default.' })),
    Partition: text,
  },
  { additionalProperties: false },
);
export type AgentServiceBody = Static<typeof agentServiceSchema>;
export type AgentCheckBody = NonNullable<AgentServiceBody['Check']>;
