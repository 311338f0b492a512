/** Why a service of a peer is not here, or not as it is there: from the peering to what was imported. */
import type { Reader } from '../../state/memory/reader.ts';
import { importProblems } from '../catalog/tables/import-problem.ts';
import { importedServiceKey, importedServices } from '../catalog/tables/imported-service.ts';
import { nameKey } from '../config-entries/config-entry.ts';
import { type Comparison, compareService, digestOf, type KeptService, noDigestReason } from './compare-digest.ts';
import { type Finding, failed, passed, skipped, untold, type Walk, waiting, walkOf } from './diagnosis.ts';
import type { Explained } from './explain-export.ts';
import type { HeldStream } from './local-stream.ts';
import { peeringStep, streamStep } from './peering-steps.ts';

/** What was imported stays when the link is lost, so the steps after that are looked at all the same. */
export function incomingWalk(reader: Reader, { row, service, stream }: Explained): Walk {
  const key = importedServiceKey(row.id, service);
  const found = reader.get(importedServices, key)?.row;
  const refusal = reader.get(importProblems, key)?.row;
  const named = row.imported.find((name) => nameKey(name) === nameKey(service));
  const kept = { service, contentHash: found?.contentHash, listed: named !== undefined };
  const comparison = comparisonOf(stream, kept);

  const peering = peeringStep(row);
  const listed = named === undefined ? unlisted(comparison) : passed('the peer names it in its list');
  const imported = (): Finding => {
    if (refusal !== undefined) return failed(`refused here since ${refusal.since}: ${refusal.reason}`);
    if (found !== undefined) return passed(importedDetail(found.instances.length, stream, service));
    if (named === undefined) return skipped;
    return comparison === 'unsent'
      ? failed('the peer cannot send it: ask there')
      : waiting('the peer has not sent it yet, or has no instance of it');
  };
  const current = (): Finding => {
    if (found === undefined) return skipped;
    if (comparison === 'same') return passed('as the peer has sent it last');
    if (comparison === 'unsent') return failed('the peer cannot send what it is there now: ask there');
    if (comparison === 'stale') return waiting('the peer has sent something else since');
    if (comparison === 'newer') return passed('came after the peer last told what it has sent');
    return untold(noDigestReason(stream));
  };
  return walkOf([
    ['peering', peering],
    ['stream', peering.status === 'passed' ? streamStep(stream) : skipped],
    ['listed', listed],
    ['imported', imported()],
    ['current', current()],
  ]);
}

const unlisted = (comparison: Comparison | undefined): Finding =>
  comparison === undefined || comparison === 'extra'
    ? failed('the peer does not export it to this cluster: its list does not name it')
    : waiting('the peer exports it, and its list has not come yet');

function comparisonOf(stream: HeldStream, kept: KeptService): Comparison | undefined {
  const digested = digestOf(stream);
  if (digested === undefined || stream.kind !== 'here') return undefined;
  return compareService(digested, stream.insight.incoming, kept);
}

function importedDetail(instances: number, stream: HeldStream, service: string): string {
  const count = instances === 1 ? '1 instance' : `${instances} instances`;
  const taken = stream.kind === 'here' ? stream.insight.incoming.taken(service) : undefined;
  return taken === undefined ? count : `${count}, last sent at ${new Date(taken.atMs).toISOString()}`;
}
