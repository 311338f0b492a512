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
      Arrives: Type.Optional(
        Type.Boolean({
          description: 'Nothing stops it. Absent: this server cannot tell; the one that Server names can.',
        }),
      ),
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
  /** Whether the service comes past this step. */
  readonly passes: 'yes' | 'no' | 'unknown';
}

export const passed = (detail?: string): Finding => ({ status: 'passed', detail, passes: 'yes' });
export const failed = (detail: string): Finding => ({ status: 'failed', detail, passes: 'no' });
export const waiting = (detail: string): Finding => ({ status: 'waiting', detail, passes: 'no' });
/** Nobody here can tell, so nobody here can say that the service stops, or that it arrives. */
export const unknown = (detail: string): Finding => ({ status: 'unknown', detail, passes: 'unknown' });
/** Nobody here can tell, and the service is there all the same. */
export const untold = (detail: string): Finding => ({ status: 'unknown', detail, passes: 'yes' });
export const skipped: Finding = { status: 'skipped', passes: 'no' };

/** The walk over these steps with these findings, in their order. */
export function walkOf(findings: readonly (readonly [step: string, finding: Finding])[]): Walk {
  const stop = findings.find(([, { passes }]) => passes === 'no')?.[0];
  const isKnown = stop !== undefined || findings.every(([, { passes }]) => passes === 'yes');
  return {
    ...(isKnown && { Arrives: stop === undefined }),
    ...(stop !== undefined && { StopsAt: stop }),
    Steps: findings.map(([Step, { status: Status, detail }]) => ({
      Step,
      Status,
      ...(detail !== undefined && { Detail: detail }),
    })),
  };
}
