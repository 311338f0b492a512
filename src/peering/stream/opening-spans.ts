/** Trace spans of opening a stream, from the first step until the stream is live or has failed. */
import { Code } from '@connectrpc/connect';
import { failSpan, startSpan, traced } from '../../http/telemetry/tracing.ts';
import { clientSpan, type PeeringName, serverSpan, setServerSpanStatus, statusName } from '../spans.ts';
import type { Authorization, SessionEnd } from './contract.ts';
import { endReason } from './session-end.ts';

export interface DialTrace {
  /** Ends the span as successful. */
  live(): void;
  /** Ends the span as failed, unless it has ended. @param problem the reason, if it is more specific than `end` */
  ended(end: SessionEnd, problem: string | undefined): void;
}

/** Starts the span of a dial to one address. */
export function traceDial(peering: PeeringName, address: string): DialTrace {
  let span = startSpan({ ...clientSpan('streamResources', peering, address), root: true });
  const end = (): void => {
    span?.end();
    span = undefined;
  };
  return {
    live: end,
    ended(sessionEnd, problem) {
      if (span !== undefined && (problem !== undefined || isFailure(sessionEnd))) {
        const code = sessionEnd.kind === 'refused' ? sessionEnd.status.code : undefined;
        if (code !== undefined) span.setAttribute('rpc.status_code', statusName(code));
        failSpan(span, sessionEnd.kind, problem ?? endReason(sessionEnd));
      }
      end();
    },
  };
}

/** Whether the dial failed. A dial that only reported a deletion, or became obsolete, did not. */
const isFailure = ({ kind }: SessionEnd): boolean => kind !== 'terminated-here' && kind !== 'stopped';

/** Runs `decide` in the span of an Open on the accepting side. @param peering undefined if the Open's ID is unknown */
export function traceOpen(
  peering: PeeringName | undefined,
  address: string,
  decide: () => Promise<Authorization>,
): Promise<Authorization> {
  return traced(serverSpan('streamResources', peering, address), async (span) => {
    const answer = await decide();
    if (span === undefined || answer.kind === 'accepted') return answer;
    if (answer.kind === 'deleted') setServerSpanStatus(span, Code.Aborted, 'the peering was deleted here');
    else setServerSpanStatus(span, answer.status.code, answer.status.message);
    return answer;
  });
}
