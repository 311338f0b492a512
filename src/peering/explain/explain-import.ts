/** The diagnosis of an imported service, from the peering to its current version ([SVC-93]). */
import type { Reader } from '../../state/memory/reader.ts';
import { importProblems } from '../catalog/tables/import-problem.ts';
import { importedServiceKey, importedServices } from '../catalog/tables/imported-service.ts';
import { nameKey } from '../config-entries/config-entry.ts';
import { type Comparison, compareService, indexDigest, type LocalService, noDigestReason } from './compare-digest.ts';
import {
  type Diagnosis,
  diagnosisOf,
  failed,
  passed,
  peeringStep,
  type StepResult,
  skipped,
  streamStep,
  unverified,
  waiting,
} from './diagnosis.ts';
import type { DiagnosisInput } from './explain-export.ts';
import type { StreamLocation } from './local-stream.ts';

/** Diagnoses a service. Imported services remain without a stream, so a failed step does not skip the later ones. */
export function diagnoseImport(reader: Reader, { peering: row, service, stream }: DiagnosisInput): Diagnosis {
  const key = importedServiceKey(row.id, service);
  const found = reader.get(importedServices, key)?.row;
  const refusal = reader.get(importProblems, key)?.row;
  const named = row.imported.find((name) => nameKey(name) === nameKey(service));
  const local = { service, contentHash: found?.contentHash, listed: named !== undefined };
  const comparison = comparisonOf(stream, local);

  const peering = peeringStep(row);
  const listed = named === undefined ? unlisted(comparison) : passed("in the peer's list of exported services");
  const imported = (): StepResult => {
    if (refusal !== undefined) return failed(`rejected here since ${refusal.since}: ${refusal.reason}`);
    if (found !== undefined) return passed(importedDetail(found.instances.length, stream, service));
    if (named === undefined) return skipped;
    return comparison === 'unsent'
      ? failed('the peer cannot send it: see the diagnosis there')
      : waiting('the peer has not sent it yet, or has no instances of it');
  };
  const current = (): StepResult => {
    if (found === undefined) return skipped;
    if (comparison === 'same') return passed('equal to the version that the peer sent last');
    if (comparison === 'unsent') return failed('the peer cannot send its current version: see the diagnosis there');
    if (comparison === 'stale') return waiting('the peer has sent a newer version');
    if (comparison === 'newer') return passed('received after the last digest');
    return unverified(noDigestReason(stream));
  };
  return diagnosisOf([
    ['peering', peering],
    ['stream', peering.status === 'passed' ? streamStep(stream) : skipped],
    ['listed', listed],
    ['imported', imported()],
    ['current', current()],
  ]);
}

const unlisted = (comparison: Comparison | undefined): StepResult =>
  comparison === undefined || comparison === 'extra'
    ? failed('the peer does not export it to this cluster: it is not in its list')
    : waiting('the peer exports it, but its list has not arrived yet');

function comparisonOf(stream: StreamLocation, local: LocalService): Comparison | undefined {
  const digested = indexDigest(stream);
  if (digested === undefined || stream.kind !== 'here') return undefined;
  return compareService(digested, stream.insight.incoming, local);
}

function importedDetail(instances: number, stream: StreamLocation, service: string): string {
  const count = instances === 1 ? '1 instance' : `${instances} instances`;
  const taken = stream.kind === 'here' ? stream.insight.incoming.applied(service) : undefined;
  return taken === undefined ? count : `${count}, last sent at ${new Date(taken.atMs).toISOString()}`;
}
