/** The secret exchange between clusters of one process, which calls the accepting side without a network. */

import { ServiceError } from '../../../src/http/errors.ts';
import {
  type Exchange,
  ExchangeRefused,
  ExchangeUnreachable,
  type PeeringService,
} from '../../../src/peering/peering-context.ts';
import { exchangeSecret } from '../../../src/peering/stream/accepting/exchange-secret.ts';
import { tokenAddresses } from '../../../src/peering/token/token.ts';

/** The reachable clusters by the server name in their tokens. */
const reachable = new Map<string, PeeringService>();

/** Makes a cluster reachable until the result is disposed. */
export function makeReachable(service: PeeringService): Disposable {
  const { serverName } = service.identity;
  reachable.set(serverName, service);
  return { [Symbol.dispose]: () => void reachable.delete(serverName) };
}

/** Exchanges the secret with a cluster in the same process. Finds it by the server name and ignores the addresses. */
export const inProcessExchange: Exchange = async (token) => {
  const service = reachable.get(token.ServerName);
  if (service === undefined) {
    throw new ExchangeUnreachable(
      tokenAddresses(token)
        .map((address) => `${address}: connection refused`)
        .join('\n'),
    );
  }
  const { PeerID: peerId, EstablishmentSecret: establishmentSecret } = token;
  try {
    return await exchangeSecret(service, {
      peerId,
      establishmentSecret,
      address: '127.0.0.1',
      disconnected: { aborted: false },
    });
  } catch (cause) {
    if (cause instanceof ServiceError && cause.code === 'permission-denied') {
      throw new ExchangeRefused(cause.message, { cause });
    }
    throw cause;
  }
};

/** An exchange that waits until the test calls `open`. */
export interface GatedExchange {
  readonly exchange: Exchange;
  /** Resolves when the exchange was called. */
  readonly requested: Promise<void>;
  open(): void;
}

export function gatedExchange(): GatedExchange {
  const requested = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  return {
    requested: requested.promise,
    open: () => gate.resolve(),
    async exchange(...args) {
      requested.resolve();
      await gate.promise;
      return inProcessExchange(...args);
    },
  };
}
