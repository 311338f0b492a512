/** Why a peer does not have a service of this cluster: from the catalog to the peer's answer. */
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { localInstances } from '../catalog/query/local-instances.ts';
import { exportedServicesOf } from '../config-entries/exported-services.ts';
import { type Decision, decidingLine } from '../config-entries/matching-export-rule.ts';
import { MESSAGE_BYTES_MAX } from '../limits.ts';
import type { Peering } from '../record/record.ts';
import {
  type Finding,
  failed,
  OUTGOING_STEPS,
  passed,
  skipped,
  unknown,
  type Walk,
  waiting,
  walkOf,
} from './diagnosis.ts';
import type { HeldStream } from './local-stream.ts';
import { peeringStep, streamStep } from './peering-steps.ts';

/** Whose way it is. */
export interface Explained {
  readonly row: DeepReadonly<Peering>;
  readonly service: string;
  readonly stream: HeldStream;
}

/** Ends at the first step that stops the service: none after it can pass. */
export function outgoingWalk(reader: Reader, { row, service, stream }: Explained): Walk {
  const look: Record<(typeof OUTGOING_STEPS)[number], () => Finding> = {
    registered: () => registeredStep(localInstances(reader, row.partition, service).length),
    exported: () =>
      exportedStep(decidingLine(exportedServicesOf(reader, row.partition), { service, peerName: row.name })),
    peering: () => peeringStep(row),
    stream: () => streamStep(stream),
    sent: () => sentStep(stream, service),
    acknowledged: () => acknowledgedStep(stream, service),
  };
  let stopped = false;
  return walkOf(
    OUTGOING_STEPS.map((step) => {
      const finding = stopped ? skipped : look[step]();
      stopped ||= finding.passes === 'no';
      return [step, finding];
    }),
  );
}

const registeredStep = (instances: number): Finding =>
  instances === 0
    ? failed('no service of this name is registered in the partition')
    : passed(instances === 1 ? '1 instance' : `${instances} instances`);

function exportedStep(decision: Decision): Finding {
  switch (decision.kind) {
    case 'never':
      return failed('the servers of a cluster themselves are never exported');
    case 'no-entry':
      return failed('the partition has no exported-services entry');
    case 'no-line':
      return failed('the exported-services entry has no line for it, and none for *');
    case 'other-consumers':
      return failed(`Services[${decision.line.index}] (${decision.line.name}) decides, and does not name the peer`);
    case 'exported':
      return passed(`Services[${decision.line.index}] (${decision.line.name})`);
  }
}

/** What is on a stream is known where it is held, and nowhere else. */
const askThere = (server: string): Finding => unknown(`server ${server} holds the stream, and it alone knows: ask it`);

function sentStep(stream: HeldStream, service: string): Finding {
  if (stream.kind === 'elsewhere') return askThere(stream.server);
  const fate = stream.kind === 'here' ? stream.insight.fate(service) : undefined;
  if (fate === undefined || fate.kind === 'unsent') return waiting('what it is now is not sent yet');
  if (fate.kind !== 'too-large') return passed();
  return failed(`not sent: ${fate.bytes} bytes are more than the ${MESSAGE_BYTES_MAX} of a message`);
}

function acknowledgedStep(stream: HeldStream, service: string): Finding {
  if (stream.kind === 'elsewhere') return askThere(stream.server);
  const fate = stream.kind === 'here' ? stream.insight.fate(service) : undefined;
  if (fate?.kind === 'acknowledged') return passed('the peer has it as it is now');
  if (fate?.kind === 'refused') return failed(`the peer has refused it: ${fate.refusal.message}`);
  return waiting('the peer has not answered yet');
}
