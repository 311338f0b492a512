/**
 * The dialing side of the exchange: gives a token's establishment secret to the cluster that made it. Addresses are
 * tried one after another, never two at once: the secret can be spent only once.
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { traced } from '../../../http/telemetry/tracing.ts';
import type { Clock } from '../../../state/clock/clock.ts';
import { withDeadline } from '../../../state/clock/deadline.ts';
import { EXCHANGE_MS } from '../../limits.ts';
import { type Exchange, ExchangeRefused, ExchangeUnreachable } from '../../peering-context.ts';
import { dialSpan } from '../../spans.ts';
import { tokenAddresses } from '../../token/token.ts';
import { connectFailure } from '../connect-failure.ts';
import type { ConnectPeer } from './peer-connection.ts';

/** Within EXCHANGE_MS in all; an address that does not answer takes no more than its share of what is left. */
export function createExchange(connect: ConnectPeer, clock: Clock): Exchange {
  return async (token, signal, peering) => {
    const addresses = tokenAddresses(token);
    const endMs = clock.monotonic() + EXCHANGE_MS;
    const failures: string[] = [];
    for (const [tried, address] of addresses.entries()) {
      const shareMs = (endMs - clock.monotonic()) / (addresses.length - tried);
      const connection = connect({ address, serverName: token.ServerName, roots: token.CA });
      try {
        return await traced(dialSpan('exchangeSecret', peering, address), async () =>
          withDeadline(clock, shareMs, signal, (inner) =>
            connection.exchange(token.PeerID, token.EstablishmentSecret, inner),
          ),
        );
      } catch (error) {
        signal.throwIfAborted();
        if (ConnectError.from(error).code === Code.PermissionDenied) {
          throw new ExchangeRefused('invalid peering establishment secret', { cause: error });
        }
        failures.push(`${address}: ${connectFailure(error)}`);
      } finally {
        connection.close();
      }
    }
    throw new ExchangeUnreachable(failures.join('\n'));
  };
}
