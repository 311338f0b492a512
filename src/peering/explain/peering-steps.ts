/** The steps that both ways have: whether the peering works, and who has its stream. */
import type { DeepReadonly } from '../../state/table.ts';
import type { Peering } from '../record/record.ts';
import { type Finding, failed, passed, waiting } from './diagnosis.ts';
import type { HeldStream } from './local-stream.ts';

/** The state of the record. */
export function peeringStep({ state, failing, deletedAt }: DeepReadonly<Peering>): Finding {
  if (state === 'ACTIVE') return passed('ACTIVE');
  if (deletedAt !== undefined) return failed(`TERMINATED: deleted here at ${deletedAt}`);
  if (state === 'TERMINATED') return failed('TERMINATED: the other side has deleted it');
  if (failing === undefined) return waiting('INITIAL: there was no stream yet');
  return failed(`failing since ${failing.since}: ${failing.reason}`);
}

/** Whether there is a stream, here or elsewhere. */
export function streamStep(stream: HeldStream): Finding {
  if (stream.kind === 'none') return waiting('the stream is about to begin, or to end');
  return passed(stream.kind === 'here' ? 'held by this server' : heldElsewhere(stream.server));
}

/** What only another server can tell. */
const heldElsewhere = (server: string): string => `held by server ${server}`;
