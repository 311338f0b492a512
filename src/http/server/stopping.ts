/** How a listener ends: nobody new, everyone under way gets an answer, nobody stays for ever. */
import type { Server } from 'node:http';
import type { Clock } from '../../state/clock/clock.ts';
import { STOP_CHECK_MS } from '../limits.ts';

/** Stops listening and closes connections as they become idle; after `graceMs` those that are left. */
export function stopListening(server: Server, clock: Clock, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    let cancelCheck = (): void => undefined;
    const cancelEnd = clock.after(graceMs, () => server.closeAllConnections());
    // A connection whose answer was under way when the stop came is kept alive by it, and is idle only afterwards.
    const check = (): void => {
      server.closeIdleConnections();
      cancelCheck = clock.after(STOP_CHECK_MS, check);
    };
    server.close(() => {
      cancelCheck();
      cancelEnd();
      resolve();
    });
    check();
  });
}
