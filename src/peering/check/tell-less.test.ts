import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CheckId, FindingCode } from './findings.ts';
import { type Check, finding, passed, skipped } from './report.ts';
import { tellLess } from './tell-less.ts';

const AT = 'a.example:1';
const at = (check: Check): Check => ({ ...check, Address: AT, DurationMs: 1 });
const skip = (...ids: readonly CheckId[]): Check[] => ids.map((id) => ({ ...skipped(id), Address: AT }));

/** Returns the checks of an address up to a failed step. */
function failedAt(code: FindingCode): Check[] {
  const { ID } = finding(code);
  const steps: readonly CheckId[] = ['dns', 'tcp', 'tls', 'server-name', 'grpc', 'version', 'clock'];
  const done = steps.slice(0, steps.indexOf(ID));
  return [
    ...done.map((id) => at(passed(id, 'seen'))),
    at(finding(code, 'seen')),
    ...skip(...steps.slice(done.length + 1)),
  ];
}

describe('a report of a token [PEER-106]', () => {
  it('is the same whatever answers at an address, until the server has proved its cluster', () => {
    const codes = ['tcp-refused', 'tcp-timed-out', 'tls-none', 'tls-not-trusted', 'tls-expired', 'server-name-wrong'];
    const reports = codes.map((code) => JSON.stringify(tellLess(failedAt(code as FindingCode))));
    assert.equal(new Set(reports).size, 1, reports.join('\n'));
    assert.match(reports[0] ?? '', /"Code":"tls-unproven"/);
    assert.doesNotMatch(reports[0] ?? '', /seen|DurationMs/);
  });

  it('names a missing name, a denied network, and what a proven server answers', () => {
    const codeOf = (code: FindingCode): unknown =>
      tellLess(failedAt(code)).find(({ Code }) => Code !== undefined)?.Code;
    for (const code of ['dns-not-found', 'tcp-denied', 'grpc-failed'] as const) assert.equal(codeOf(code), code);
    assert.equal(tellLess([passed('token', 'kept')])[0]?.Detail, 'kept');
  });

  it('remains a warning when another address works', () => {
    const checks = failedAt('tcp-refused').map((check) =>
      check.Status === 'failed' ? { ...check, Status: 'warning' as const } : check,
    );
    assert.equal(tellLess(checks).find(({ Code }) => Code === 'tls-unproven')?.Status, 'warning');
  });
});
