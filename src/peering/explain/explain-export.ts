/** The diagnosis of an exported service, from registration to the peer's acknowledgment ([SVC-94]). */
import { runAtOnce } from '../../state/clock/slices.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { listServiceRows } from '../catalog/query/resolved-instances.ts';
import { exportedServicesEntry } from '../config-entries/exported-services.ts';
import { type ExportDecision, matchingExportRule } from '../config-entries/matching-export-rule.ts';
import { MESSAGE_BYTES_MAX } from '../limits.ts';
import type { Peering } from '../record/record.ts';
import {
  type Diagnosis,
  diagnosisOf,
  failed,
  OUTGOING_STEPS,
  passed,
  peeringStep,
  type StepResult,
  skipped,
  streamStep,
  unknown,
  waiting,
} from './diagnosis.ts';
import type { StreamLocation } from './local-stream.ts';

export interface DiagnosisInput {
  readonly peering: DeepReadonly<Peering>;
  readonly service: string;
  readonly stream: StreamLocation;
}

/** Diagnoses a service. Skips the steps after the first failed step, because they cannot pass. */
export function diagnoseExport(reader: Reader, { peering: row, service, stream }: DiagnosisInput): Diagnosis {
  const steps: Record<(typeof OUTGOING_STEPS)[number], () => StepResult> = {
    registered: () => registeredStep(runAtOnce(listServiceRows(reader, row.partition, service)).length),
    exported: () =>
      exportedStep(matchingExportRule(exportedServicesEntry(reader, row.partition), { service, peerName: row.name })),
    peering: () => peeringStep(row),
    stream: () => streamStep(stream),
    sent: () => sentStep(stream, service),
    acknowledged: () => acknowledgedStep(stream, service),
  };
  let stopped = false;
  return diagnosisOf(
    OUTGOING_STEPS.map((step) => {
      const result = stopped ? skipped : steps[step]();
      stopped ||= result.passes === 'no';
      return [step, result];
    }),
  );
}

const registeredStep = (instances: number): StepResult =>
  instances === 0
    ? failed('no service of this name is registered in the partition')
    : passed(instances === 1 ? '1 instance' : `${instances} instances`);

function exportedStep(decision: ExportDecision): StepResult {
  switch (decision.kind) {
    case 'never':
      return failed('the servers of the cluster are never exported');
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

/** Only the server that holds a stream knows what was sent on it ([SVC-95]). */
const onlyKnownThere = (server: string): StepResult =>
  unknown(`only server ${server}, which holds the stream, knows: send the request there`);

function sentStep(stream: StreamLocation, service: string): StepResult {
  if (stream.kind === 'elsewhere') return onlyKnownThere(stream.server);
  const fate = stream.kind === 'here' ? stream.insight.deliveryStatus(service) : undefined;
  if (fate === undefined || fate.kind === 'unsent') return waiting('the current version has not been sent yet');
  if (fate.kind !== 'too-large') return passed();
  return failed(`not sent: ${fate.bytes} bytes exceed the message limit of ${MESSAGE_BYTES_MAX} bytes`);
}

function acknowledgedStep(stream: StreamLocation, service: string): StepResult {
  if (stream.kind === 'elsewhere') return onlyKnownThere(stream.server);
  const fate = stream.kind === 'here' ? stream.insight.deliveryStatus(service) : undefined;
  if (fate?.kind === 'acknowledged') return passed('the peer acknowledged the current version');
  if (fate?.kind === 'refused') return failed(`rejected by the peer: ${fate.refusal.message}`);
  return waiting('the peer has not acknowledged it yet');
}
