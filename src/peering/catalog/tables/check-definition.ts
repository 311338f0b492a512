/** The schema of a check definition. The catalog stores and returns definitions and runs no checks ([SVC-17]). */
import { type Static, Type } from 'typebox';
import type { DeepReadonly } from '../../../state/table.ts';

const text = Type.Optional(Type.String());
const flag = Type.Optional(Type.Boolean());
/** Some clients send durations as text, others as nanoseconds. */
const duration = Type.Optional(Type.Union([Type.String(), Type.Integer()]));

/** `Definition` of a check, for the external process that runs it. */
export const checkDefinitionSchema = Type.Object(
  {
    HTTP: text,
    Header: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
    Method: text,
    Body: text,
    TLSServerName: text,
    TLSSkipVerify: flag,
    DisableRedirects: flag,
    TCP: text,
    TCPUseTLS: flag,
    UDP: text,
    GRPC: text,
    GRPCUseTLS: flag,
    H2PING: text,
    H2PingUseTLS: flag,
    OSService: text,
    SessionName: text,
    Interval: duration,
    Timeout: duration,
    DeregisterCriticalServiceAfter: duration,
    IntervalDuration: duration,
    TimeoutDuration: duration,
    DeregisterCriticalServiceAfterDuration: duration,
  },
  { additionalProperties: false, description: 'How an external process runs the check.' },
);
export type CheckDefinition = DeepReadonly<Static<typeof checkDefinitionSchema>>;
