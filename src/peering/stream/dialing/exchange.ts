/**
 * The dialing side of the secret exchange: presents the establishment secret to the cluster that generated the token.
 * It tries the addresses one after another and never in parallel, because the secret can be used only once.
 */
import { Code, ConnectError } from '@connectrpc/connect';
import { traced } from '../../../http/telemetry/tracing.ts';
import type { Clock } from '../../../state/clock/clock.ts';
import { withDeadline } from '../../../state/clock/deadline.ts';
import { EXCHANGE_TIMEOUT_MS } from '../../limits.ts';
import { type Exchange, ExchangeRefused, ExchangeUnreachable } from '../../peering-context.ts';
import { clientSpan } from '../../spans.ts';
import { tokenAddresses } from '../../token/token.ts';
import { connectFailureReason } from '../connect-failure.ts';
import type { ConnectPeer } from '../stream-dependencies.ts';

/** The exchange takes at most EXCHANGE_TIMEOUT_MS. Each address gets its share of the remaining time ([PEER-56]). */
export function createExchange(connect: ConnectPeer, clock: Clock): Exchange {
  return async (token, signal, peering) => {
    const addresses = tokenAddresses(token);
    const endMs = clock.monotonic() + EXCHANGE_TIMEOUT_MS;
    const failures: string[] = [];
    for (const [tried, address] of addresses.entries()) {
      const shareMs = (endMs - clock.monotonic()) / (addresses.length - tried);
      const connection = connect({ address, serverName: token.ServerName, roots: token.CA });
      try {
        return await traced(clientSpan('exchangeSecret', peering, address), async () =>
          withDeadline(clock, shareMs, signal, (inner) =>
            connection.exchange(token.PeerID, token.EstablishmentSecret, inner),
          ),
        );
      } catch (error) {
        signal.throwIfAborted();
        if (ConnectError.from(error).code === Code.PermissionDenied) {
          throw new ExchangeRefused('invalid peering establishment secret', { cause: error });
        }
        failures.push(`${address}: ${connectFailureReason(error)}`);
      } finally {
        connection.close();
      }
    }
    throw new ExchangeUnreachable(failures.join('\n'));
  };
}
