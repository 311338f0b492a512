/**
 * Remembers when tokens are used, and writes it down now and then: at once for the first use of a token, since an invited
 * user is active from then on, and at most every TOKEN_USE_MS after that.
 */
import { users, userTokens } from '../../credentials/user.ts';
import type { Log } from '../../http/telemetry/log.ts';
import type { Clock } from '../../state/clock/clock.ts';
import type { State } from '../../state/state.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import type { Caller } from '../authorization/caller.ts';
import { TOKEN_USE_MS, TOKEN_USES_BATCH } from '../limits.ts';
import { apiTokens } from '../tables/authentication-token.ts';
import { type TokenUse, tokenUses } from '../tables/token-use.ts';

export interface TokenUses {
  /** Notes that the caller's token is used now. */
  used(caller: Caller): void;
}

export interface RecordedUses extends TokenUses, AsyncDisposable {
  /** Resolves when everything noted before is written. */
  written(): Promise<void>;
}

/** Makes what notes uses; disposing it writes no more. */
export function recordTokenUses(state: State, clock: Clock, log: Log): RecordedUses {
  /** Uses that are to be written, by token. */
  const pending = new Map<string, TokenUse>();
  /** Until when, by the monotonic clock, what is written of a token is good enough. */
  const freshUntil = new Map<string, number>();
  let writing: Promise<void> | undefined;
  let closed = false;

  async function write(): Promise<void> {
    while (pending.size > 0 && !closed) {
      const uses = [...pending.values()].slice(0, TOKEN_USES_BATCH);
      for (const { tokenId } of uses) pending.delete(tokenId);
      await state.write((tx) => {
        for (const use of uses) putUse(tx, use);
      });
    }
    const now = clock.monotonic();
    for (const [tokenId, untilMs] of freshUntil) if (untilMs <= now) freshUntil.delete(tokenId);
  }

  function start(): void {
    if (writing !== undefined) return;
    writing = write()
      .catch((error: unknown) => {
        // What is lost is a time that the next use tells again.
        if (!closed) log.warn({ error }, 'the last use of tokens could not be written');
      })
      .finally(() => {
        writing = undefined;
      });
  }

  return {
    used({ tokenId, kind }) {
      const now = clock.monotonic();
      if ((freshUntil.get(tokenId) ?? 0) > now || closed) return;
      freshUntil.set(tokenId, now + TOKEN_USE_MS);
      const lastTime = new Date(clock.now()).toISOString();
      pending.set(tokenId, { tokenId, of: kind === 'user' ? 'user' : 'api', lastTime });
      start();
    },
    async written() {
      while (writing !== undefined) await writing;
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      await writing;
    },
  };
}

/** Writes a use, unless the token is gone or another server has written a later one. */
function putUse(tx: Transaction, use: TokenUse): void {
  const stored = use.of === 'user' ? tx.get(userTokens, use.tokenId) : tx.get(apiTokens, use.tokenId);
  if (stored === undefined) return;
  const known = tx.get(tokenUses, use.tokenId)?.row.lastTime;
  if (known === undefined || known < use.lastTime) tx.put(tokenUses, use);
  const user = 'userId' in stored.row ? tx.get(users, stored.row.userId)?.row : undefined;
  if (user !== undefined && user.activeTime === undefined) tx.put(users, { ...user, activeTime: use.lastTime });
}
