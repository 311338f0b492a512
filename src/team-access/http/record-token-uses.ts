/**
 * Records the last use of tokens. Writes the first use of a token at once, because it makes an invited user active, and
 * later uses at most every TOKEN_USE_INTERVAL_MS.
 */
import { users, userTokens } from '../../credentials/user.ts';
import type { Log } from '../../http/telemetry/log.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { JOB_BATCH_ROWS } from '../../state/limits.ts';
import type { State } from '../../state/state.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import type { Caller } from '../authorization/caller.ts';
import { TOKEN_USE_INTERVAL_MS, TOKEN_USE_RETRY_MS } from '../limits.ts';
import { apiTokens, type TokenUse, tokenUses } from '../tables/authentication-token.ts';

export interface TokenUses {
  recordUse(caller: Caller): void;
}

export interface TokenUseRecorder extends TokenUses, AsyncDisposable {
  /** Resolves when all uses recorded before are written. */
  flushed(): Promise<void>;
}

/** Creates a recorder. Disposal stops its writes. */
export function recordTokenUses(state: State, clock: Clock, log: Log): TokenUseRecorder {
  /** Unwritten uses, by token ID. */
  const pending = new Map<string, TokenUse>();
  /** Monotonic time before which a token needs no further write, by token ID. */
  const freshUntil = new Map<string, number>();
  let writing: Promise<void> | undefined;
  let cancelRetry = (): void => undefined;
  let closed = false;

  /** Writes uses, or keeps them for the next attempt. */
  async function writeBatch(uses: readonly TokenUse[]): Promise<void> {
    try {
      await state.write((tx) => {
        for (const use of uses) putUse(tx, use);
      });
    } catch (error) {
      // A later use replaces a kept one.
      for (const use of uses) if (!pending.has(use.tokenId)) pending.set(use.tokenId, use);
      throw error;
    }
  }

  async function write(): Promise<void> {
    while (pending.size > 0 && !closed) {
      const uses = [...pending.values()].slice(0, JOB_BATCH_ROWS);
      for (const { tokenId } of uses) pending.delete(tokenId);
      await writeBatch(uses);
    }
    const now = clock.monotonic();
    for (const [tokenId, untilMs] of freshUntil) if (untilMs <= now) freshUntil.delete(tokenId);
  }

  function start(): void {
    if (writing !== undefined) return;
    writing = write()
      .catch((error: unknown) => {
        if (closed) return;
        log.warn({ error }, 'writing token uses failed');
        cancelRetry();
        cancelRetry = clock.after(TOKEN_USE_RETRY_MS, start);
      })
      .finally(() => {
        writing = undefined;
      });
  }

  return {
    recordUse({ tokenId, kind }) {
      const now = clock.monotonic();
      if ((freshUntil.get(tokenId) ?? 0) > now || closed) return;
      freshUntil.set(tokenId, now + TOKEN_USE_INTERVAL_MS);
      const lastTime = new Date(clock.now()).toISOString();
      pending.set(tokenId, { tokenId, of: kind === 'user' ? 'user' : 'api', lastTime });
      start();
    },
    async flushed() {
      while (writing !== undefined) await writing;
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      cancelRetry();
      await writing;
    },
  };
}

/** Writes a use, unless the token is deleted or another server has written a later use. */
function putUse(tx: Transaction, use: TokenUse): void {
  const stored = use.of === 'user' ? tx.get(userTokens, use.tokenId) : tx.get(apiTokens, use.tokenId);
  if (stored === undefined) return;
  const recorded = tx.get(tokenUses, use.tokenId)?.row.lastTime;
  if (recorded === undefined || recorded < use.lastTime) tx.put(tokenUses, use);
  const user = 'userId' in stored.row ? tx.get(users, stored.row.userId)?.row : undefined;
  if (user !== undefined && user.activeTime === undefined) tx.put(users, { ...user, activeTime: use.lastTime });
}
