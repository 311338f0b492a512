import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import type { Log } from '../../http/telemetry/log.ts';
import type { State } from '../../state/state.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import type { Caller } from '../authorization/caller.ts';
import { TOKEN_USE_RETRY_MS } from '../limits.ts';
import type { TokenUse } from '../tables/authentication-token.ts';
import { recordTokenUses } from './record-token-uses.ts';

const callerOf = (tokenId: string): Caller => ({ kind: 'organization', organizationId: 'org-1', tokenId });

test('a write that fails loses no use, and is repeated [TEAM-117]', async () => {
  const clock = createFakeClock(Date.parse('2026-01-31T00:00:00Z'));
  const written: string[] = [];
  let isFailing = true;
  let attempts = 0;
  const tx = {
    get: (table: { readonly name: string }) => (table.name === 'token-uses' ? undefined : { row: {} }),
    put: (_table: unknown, { tokenId }: TokenUse) => void written.push(tokenId),
  } as unknown as Transaction;
  const write = async (change: (tx: Transaction) => void): Promise<void> => {
    attempts += 1;
    if (isFailing) throw new Error('the store is unreachable');
    change(tx);
  };
  const warned: string[] = [];
  const log = { warn: (_fields: unknown, message: string) => void warned.push(message) } as unknown as Log;
  await using uses = recordTokenUses({ write } as unknown as State, clock, log);
  uses.recordUse(callerOf('at-1'));
  await uses.flushed();
  uses.recordUse(callerOf('at-2'));
  await uses.flushed();
  assert.deepEqual([attempts, written, warned.length], [2, [], 2]);
  isFailing = false;
  await clock.run(TOKEN_USE_RETRY_MS);
  await uses.flushed();
  assert.deepEqual(written.toSorted(), ['at-1', 'at-2']);
  await clock.run(TOKEN_USE_RETRY_MS);
  assert.equal(attempts, 3);
});
