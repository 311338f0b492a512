/** What is registered with the local agent; the fields are those of Consul's clients. */
import { type Static, type TSchema, Type } from 'typebox';
import { taggedAddressesSchema, weightsSchema } from '../api/bodies.ts';

const text = Type.Optional(Type.String());

/** Checks that an agent would run by asking the service; here services report for themselves. */
const REFUSED = [
  ...['HTTP', 'TCP', 'UDP', 'GRPC', 'H2PING', 'OSService', 'Args', 'ScriptArgs', 'DockerContainerID', 'AliasService'],
  ...['AliasNode', 'Interval', 'Timeout', 'Header', 'Method', 'Body', 'Shell', 'TLSServerName', 'TLSSkipVerify'],
  ...['TCPUseTLS', 'GRPCUseTLS', 'H2PingUseTLS', 'DisableRedirects', 'SuccessBeforePassing'],
  ...['FailuresBeforeWarning', 'FailuresBeforeCritical'],
] as const;

/** The fields of checks that are known, and that nothing here would do anything with. */
export const REFUSED_CHECK_FIELDS: ReadonlySet<string> = new Set(REFUSED);

const refusedFields: Record<string, TSchema> = Object.fromEntries(
  REFUSED.map((field) => [field, Type.Optional(Type.Unknown({ description: 'Refused: want TTL.' }))]),
);

const checkFields = {
  CheckID: Type.Optional(Type.String({ description: 'service:ID unless given; unique among those of this server.' })),
  Name: text,
  TTL: Type.Optional(
    Type.String({ description: 'Required, such as 30s: how long after a report the check becomes critical.' }),
  ),
  Status: Type.Optional(
    Type.String({
      description: 'passing, warning or critical from now on; unless given as it is, and critical at first.',
    }),
  ),
  Notes: text,
  DeregisterCriticalServiceAfter: Type.Optional(
    Type.String({
      description:
        'Such as 10m: how long after it has become critical the service is removed; never with 0s, or without.',
    }),
  ),
};

// Those that are refused are no part of the type: nothing reads them but the refusal.
const checkSchema = Type.Object({ ...refusedFields, ...checkFields } as typeof checkFields, {
  additionalProperties: false,
});

/** The body of `PUT /v1/agent/service/register`. */
export const agentServiceSchema = Type.Object(
  {
    ID: Type.Optional(Type.String({ description: 'The name unless given; unique among those of this server.' })),
    Name: Type.Optional(Type.String({ description: 'Required.' })),
    Kind: text,
    Tags: Type.Optional(Type.Array(Type.String())),
    Address: Type.Optional(
      Type.String({ description: "The server's unless given; required where the server listens on every address." }),
    ),
    Port: Type.Optional(Type.Integer()),
    SocketPath: text,
    Meta: Type.Optional(Type.Record(Type.String(), Type.String())),
    Weights: weightsSchema,
    TaggedAddresses: taggedAddressesSchema,
    EnableTagOverride: Type.Optional(Type.Boolean({ description: 'Not looked at.' })),
    Check: Type.Optional(checkSchema),
    Checks: Type.Optional(Type.Array(checkSchema)),
    Namespace: Type.Optional(Type.String({ description: 'There are none: empty or default.' })),
    Partition: text,
  },
  { additionalProperties: false },
);
export type AgentServiceBody = Static<typeof agentServiceSchema>;
export type AgentCheckBody = NonNullable<AgentServiceBody['Check']>;
