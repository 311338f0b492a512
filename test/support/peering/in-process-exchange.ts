/** The exchange between clusters that live in one process: the accepting side's own operation, without the network. */

import { ServiceError } from '../../../src/http/errors.ts';
import {
  type Exchange,
  ExchangeRefused,
  ExchangeUnreachable,
  type PeeringService,
} from '../../../src/peering/peering-context.ts';
import { exchangeSecret } from '../../../src/peering/stream/accepting/exchange-secret.ts';
import { tokenAddresses } from '../../../src/peering/token/token.ts';

/** The clusters that can be reached, by the server name that their tokens have. */
const reachable = new Map<string, PeeringService>();

/** Lets tokens of this cluster be exchanged, until it is disposed. */
export function makeReachable(service: PeeringService): Disposable {
  const { serverName } = service.identity;
  reachable.set(serverName, service);
  return { [Symbol.dispose]: () => void reachable.delete(serverName) };
}

/** Reaches every cluster of this process by its server name, whatever its addresses. */
export const inProcessExchange: Exchange = async (token) => {
  const service = reachable.get(token.ServerName);
  if (service === undefined) {
    throw new ExchangeUnreachable(
      tokenAddresses(token)
        .map((address) => `${address}: nobody is there`)
        .join('\n'),
    );
  }
  const { PeerID: peerId, EstablishmentSecret: establishmentSecret } = token;
  try {
    return await exchangeSecret(service, {
      peerId,
      establishmentSecret,
      address: '127.0.0.1',
      gone: { aborted: false },
    });
  } catch (cause) {
    if (cause instanceof ServiceError && cause.code === 'permission-denied') {
      throw new ExchangeRefused(cause.message, { cause });
    }
    throw cause;
  }
};
