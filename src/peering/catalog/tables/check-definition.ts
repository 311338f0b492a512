/** How a check is run by somebody outside: the catalog keeps it and shows it, and does nothing with it. */
import { type Static, Type } from 'typebox';
import type { DeepReadonly } from '../../../state/table.ts';

const text = Type.Optional(Type.String());
const flag = Type.Optional(Type.Boolean());
/** Clients write durations as text, some as nanoseconds. */
const duration = Type.Optional(Type.Union([Type.String(), Type.Integer()]));

/** How somebody else runs a check: kept and shown as it was given, so that who runs it finds it. */
export const definitionSchema = Type.Object(
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
  { additionalProperties: false, description: 'How the check is run, by whoever runs it.' },
);
export type CheckDefinition = DeepReadonly<Static<typeof definitionSchema>>;
