import type { Exchange } from '../../../src/peering/peering-context.ts';
import { inProcessExchange } from './in-process-exchange.ts';

/** An exchange that a test holds: `asked` resolves when it was asked for. */
export function heldExchange(): { readonly exchange: Exchange; readonly asked: Promise<void>; open(): void } {
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  return {
    asked: asked.promise,
    open: () => gate.resolve(),
    async exchange(...given) {
      asked.resolve();
      await gate.promise;
      return inProcessExchange(...given);
    },
  };
}
