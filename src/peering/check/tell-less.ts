/**
 * Removes from a report what would make the check a scanner of ports and certificates ([PEER-106]): until a server has
 * proved that it belongs to the other cluster, the report tells only that none has.
 */
import { type Check, finding, skipped } from './report.ts';

/** @param checks of any number of addresses */
export function tellLess(checks: readonly Check[]): readonly Check[] {
  const byAddress = Map.groupBy(checks, ({ Address }) => Address);
  return checks.map((check) => {
    const { ID, Address } = check;
    if (Address === undefined) return check;
    const ofAddress = byAddress.get(Address) ?? [];
    const isProven = TRUST.every((id) => ofAddress.some((one) => one.ID === id && one.Status === 'passed'));
    if (isProven || ofAddress.some(({ Code }) => Code === 'tcp-denied')) return check;
    if (ID === 'dns') return withoutMeasurements(check);
    const wasResolved = ofAddress.some((one) => one.ID === 'dns' && one.Status === 'passed');
    if (ID !== 'tls' || !wasResolved) return { ...skipped(ID), Address };
    const isWarning = ofAddress.some(({ Status }) => Status === 'warning');
    return { ...finding('tls-unproven'), ...(isWarning && { Status: 'warning' }), Address };
  });
}

/** The steps that prove that a server belongs to the other cluster. */
const TRUST = ['tls', 'server-name'] as const satisfies readonly Check['ID'][];

function withoutMeasurements({ Detail: _detail, DurationMs: _duration, ...rest }: Check): Check {
  return rest;
}
