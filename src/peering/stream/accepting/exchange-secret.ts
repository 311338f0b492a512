/** The accepting side of the secret exchange: replaces an establishment secret with a stream secret ([STREAM-19]). */
import { randomUUID } from 'node:crypto';
import type { Origin } from '../../../audit/record.ts';
import { ServiceError } from '../../../http/errors.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { SECRET_CHARACTERS_MAX } from '../../limits.ts';
import type { PeeringService } from '../../peering-context.ts';
import { peerings } from '../../record/record.ts';
import { recordPeeringChange } from '../../record/record-change.ts';
import { acceptedSecrets, hashOf, spendEstablishmentSecret } from '../../record/secrets.ts';

export interface PresentedSecret {
  readonly peerId: string;
  readonly establishmentSecret: string;
  readonly address: string;
  /** Whether the caller has disconnected. Its secret is then not used up, so that it can try again ([STREAM-22]). */
  readonly disconnected: Pick<AbortSignal, 'aborted'>;
}

/**
 * Uses up the establishment secret in one commit.
 * @returns the stream secret, of which only the hash is stored
 * @throws ServiceError `permission-denied` with the same text for every cause ([STREAM-20]), StateError
 */
export async function exchangeSecret(service: PeeringService, presented: PresentedSecret): Promise<string> {
  const { peerId, address, disconnected } = presented;
  const secret = presented.establishmentSecret.slice(0, SECRET_CHARACTERS_MAX);
  const streamSecret = randomUUID();
  const pending = hashOf(streamSecret);
  const origin: Origin = { actor: 'peer', address, requestId: '' };
  const spend = (tx: Transaction): void => {
    const stored = tx.get(peerings, peerId);
    const next = spendEstablishmentSecret(tx.get(acceptedSecrets, peerId)?.row, secret, pending, tx.now);
    if (next === undefined || stored === undefined || stored.row.state === 'TERMINATED') {
      throw new ServiceError('permission-denied', 'invalid peering establishment secret');
    }
    tx.put(acceptedSecrets, next);
    recordPeeringChange(tx, origin, { action: 'exchange-secret', before: stored, after: stored });
  };
  await service.credentials.state.write(spend, { signal: disconnected });
  return streamSecret;
}
