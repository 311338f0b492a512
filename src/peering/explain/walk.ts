/** The way of a service from one cluster to the other, step by step, and where it stops. */
import { type Static, Type } from 'typebox';

/** On the way to the peer, in their order. */
export const OUTGOING_STEPS = ['registered', 'exported', 'peering', 'stream', 'sent', 'acknowledged'] as const;
/** On the way from the peer. */
const INCOMING_STEPS = ['peering', 'stream', 'listed', 'imported', 'current'] as const;

const statusSchema = Type.Enum(['passed', 'failed', 'waiting', 'unknown', 'skipped'], {
  description:
    'failed: somebody has to do something. waiting: it is on its way. unknown: this server cannot tell. skipped: an earlier step is in the way.',
});

const walkSchema = (steps: readonly string[], title: string) =>
  Type.Object(
    {
      Arrives: Type.Boolean({ description: 'Nothing stops it.' }),
      StopsAt: Type.Optional(Type.Enum([...steps], { description: 'The first step that it has not come past.' })),
      Steps: Type.Array(
        Type.Object({
          Step: Type.Enum([...steps]),
          Status: statusSchema,
          Detail: Type.Optional(Type.String({ description: 'What was found.' })),
        }),
      ),
    },
    { title },
  );

export const explanationSchema = Type.Object(
  {
    Service: Type.String(),
    Peer: Type.String(),
    Server: Type.Optional(
      Type.String({ description: 'The server that holds the stream, where it is another one: it can tell more.' }),
    ),
    Outgoing: walkSchema(OUTGOING_STEPS, 'OutgoingWalk'),
    Incoming: walkSchema(INCOMING_STEPS, 'IncomingWalk'),
  },
  { title: 'ServiceExplanation' },
);

export type Explanation = Static<typeof explanationSchema>;
export type Walk = Explanation['Outgoing'];
export type Status = Static<typeof statusSchema>;

/** What was found at one step. */
export interface Finding {
  readonly status: Status;
  readonly detail?: string | undefined;
  /** The service has not come past this step, as far as is known. */
  readonly stops: boolean;
}

export const passed = (detail?: string): Finding => ({ status: 'passed', detail, stops: false });
export const failed = (detail: string): Finding => ({ status: 'failed', detail, stops: true });
export const waiting = (detail: string): Finding => ({ status: 'waiting', detail, stops: true });
export const unknown = (detail: string): Finding => ({ status: 'unknown', detail, stops: true });
/** Nobody here can tell, and the service is there all the same. */
export const untold = (detail: string): Finding => ({ status: 'unknown', detail, stops: false });
export const skipped: Finding = { status: 'skipped', stops: true };

/** The walk over these steps with these findings, in their order. */
export function walkOf(findings: readonly (readonly [step: string, finding: Finding])[]): Walk {
  const stop = findings.find(([, { stops }]) => stops)?.[0];
  return {
    Arrives: stop === undefined,
    ...(stop !== undefined && { StopsAt: stop }),
    Steps: findings.map(([Step, { status: Status, detail }]) => ({
      Step,
      Status,
      ...(detail !== undefined && { Detail: detail }),
    })),
  };
}
