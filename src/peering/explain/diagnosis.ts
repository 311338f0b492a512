/** The diagnosis of a service between two clusters: its steps, and the first one that it does not pass ([SVC-93]). */
import { type Static, Type } from 'typebox';
import type { DeepReadonly } from '../../state/table.ts';
import type { Peering } from '../record/record.ts';
import type { StreamLocation } from './local-stream.ts';

/** The steps of an exported service, in order. */
export const OUTGOING_STEPS = ['registered', 'exported', 'peering', 'stream', 'sent', 'acknowledged'] as const;
/** The steps of an imported service, in order. */
const INCOMING_STEPS = ['peering', 'stream', 'listed', 'imported', 'current'] as const;

const statusSchema = Type.Enum(['passed', 'failed', 'waiting', 'unknown', 'skipped'], {
  description:
    'failed: an operator must act. waiting: in progress. unknown: this server does not know. skipped: an earlier step did not pass.',
});

const diagnosisSchema = (steps: readonly string[], title: string) =>
  Type.Object(
    {
      Arrives: Type.Optional(
        Type.Boolean({
          description: 'Whether the service passes all steps. Absent when only the server in Server knows.',
        }),
      ),
      StopsAt: Type.Optional(Type.Enum([...steps], { description: 'The first step that the service does not pass.' })),
      Steps: Type.Array(
        Type.Object({
          Step: Type.Enum([...steps]),
          Status: statusSchema,
          Detail: Type.Optional(Type.String({ description: 'The reason for the status.' })),
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
      Type.String({ description: 'The server that holds the stream, if it is another one. It knows more.' }),
    ),
    Outgoing: diagnosisSchema(OUTGOING_STEPS, 'OutgoingDiagnosis'),
    Incoming: diagnosisSchema(INCOMING_STEPS, 'IncomingDiagnosis'),
  },
  { title: 'ServiceExplanation' },
);

export type Explanation = Static<typeof explanationSchema>;
export type Diagnosis = Explanation['Outgoing'];
export type StepStatus = Static<typeof statusSchema>;

export interface StepResult {
  readonly status: StepStatus;
  readonly detail?: string | undefined;
  readonly passes: 'yes' | 'no' | 'unknown';
}

export const passed = (detail?: string): StepResult => ({ status: 'passed', detail, passes: 'yes' });
export const failed = (detail: string): StepResult => ({ status: 'failed', detail, passes: 'no' });
export const waiting = (detail: string): StepResult => ({ status: 'waiting', detail, passes: 'no' });
/** This server does not know the step, so it does not know whether the service arrives. */
export const unknown = (detail: string): StepResult => ({ status: 'unknown', detail, passes: 'unknown' });
/** This server cannot verify the step. It has passed, because the service is imported. */
export const unverified = (detail: string): StepResult => ({ status: 'unknown', detail, passes: 'yes' });
export const skipped: StepResult = { status: 'skipped', passes: 'no' };

/** Returns the diagnosis for the results of all steps, in order. */
export function diagnosisOf(results: readonly (readonly [step: string, finding: StepResult])[]): Diagnosis {
  const stop = results.find(([, { passes }]) => passes === 'no')?.[0];
  const isKnown = stop !== undefined || results.every(([, { passes }]) => passes === 'yes');
  return {
    ...(isKnown && { Arrives: stop === undefined }),
    ...(stop !== undefined && { StopsAt: stop }),
    Steps: results.map(([Step, { status: Status, detail }]) => ({
      Step,
      Status,
      ...(detail !== undefined && { Detail: detail }),
    })),
  };
}

export function peeringStep({ state, failing, deletedAt }: DeepReadonly<Peering>): StepResult {
  if (state === 'ACTIVE') return passed('ACTIVE');
  if (deletedAt !== undefined) return failed(`TERMINATED: deleted here at ${deletedAt}`);
  if (state === 'TERMINATED') return failed('TERMINATED: deleted by the other side');
  if (failing === undefined) return waiting('INITIAL: no stream has been opened yet');
  return failed(`failing since ${failing.since}: ${failing.reason}`);
}

export function streamStep(stream: StreamLocation): StepResult {
  if (stream.kind === 'none') return waiting('the stream is opening or closing');
  return passed(stream.kind === 'here' ? 'held by this server' : `held by server ${stream.server}`);
}
