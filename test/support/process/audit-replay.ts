import assert from 'node:assert/strict';
import type { ShownAuditEntry } from '../../../src/audit/read-audit.ts';
import type { Document } from './storm-things.ts';

/** The tokens and partitions that the log's changes add up to; each must begin with what the one before it left. */
export function replayAudit(newestFirst: readonly ShownAuditEntry[]): Map<string, Document> {
  const things = new Map<string, Document>();
  for (const { Type, Subject, Before, After } of newestFirst.toReversed()) {
    if (Type !== 'acl-token' && Type !== 'partition') continue;
    assert.deepEqual(Before, things.get(Subject) ?? null, `the log of ${Subject} has a gap`);
    if (After === null) things.delete(Subject);
    else things.set(Subject, After as Document);
  }
  return things;
}
