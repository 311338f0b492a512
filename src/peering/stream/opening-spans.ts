/** Spans of streams that are opened: from the first thing done about it until it is live, or known not to be. */
import { Code } from '@connectrpc/connect';
import { failSpan, startSpan, traced } from '../../http/telemetry/tracing.ts';
import { dialSpan, type PeeringName, servedSpan, statusName, statusOfServed } from '../spans.ts';
import type { Authorization, SessionEnd } from './contract.ts';
import { endReason } from './session-end.ts';

/** An attempt to open a stream. */
export interface Attempt {
  /** The stream is live. */
  live(): void;
  /** The stream has ended; nothing more is said of one that was live. @param problem why there was none, if `end` does not tell */
  ended(end: SessionEnd, problem: string | undefined): void;
}

/** Follows an attempt of the dialing side to open a stream to one address. */
export function traceAttempt(peering: PeeringName, address: string): Attempt {
  let span = startSpan({ ...dialSpan('streamResources', peering, address), root: true });
  const end = (): void => {
    span?.end();
    span = undefined;
  };
  return {
    live: end,
    ended(how, problem) {
      if (span !== undefined && (problem !== undefined || isFailure(how))) {
        const code = how.kind === 'refused' ? how.status.code : undefined;
        if (code !== undefined) span.setAttribute('rpc.status_code', statusName(code));
        failSpan(span, how.kind, problem ?? endReason(how));
      }
      end();
    },
  };
}

/** An attempt to tell of a deletion ends when that is told, and one that is not needed any more has not failed. */
const isFailure = ({ kind }: SessionEnd): boolean => kind !== 'terminated-here' && kind !== 'stopped';

/** Does what decides about an Open in a span of its own. @param peering undefined: none is known by that ID */
export function tracedOpening(
  peering: PeeringName | undefined,
  address: string,
  decide: () => Promise<Authorization>,
): Promise<Authorization> {
  return traced(servedSpan('streamResources', peering, address), async (span) => {
    const decided = await decide();
    if (span === undefined || decided.kind === 'accepted') return decided;
    if (decided.kind === 'deleted') statusOfServed(span, Code.Aborted, 'the peering was deleted here');
    else statusOfServed(span, decided.status.code, decided.status.message);
    return decided;
  });
}
