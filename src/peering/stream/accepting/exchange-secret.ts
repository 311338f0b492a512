/** The accepting side's half of establishing: another cluster gives the secret of a token for one to open streams with. */
import { randomUUID } from 'node:crypto';
import type { Origin } from '../../../audit/record.ts';
import { ServiceError } from '../../../http/errors.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { SECRET_CHARACTERS_MAX } from '../../limits.ts';
import type { PeeringService } from '../../peering-context.ts';
import { peerings } from '../../record/record.ts';
import { recordPeeringChange } from '../../record/record-change.ts';
import { acceptedSecrets, exchanged, hashOf } from '../../record/secrets.ts';

/** What the other cluster presents, and from where. */
export interface PresentedSecret {
  readonly peerId: string;
  readonly establishmentSecret: string;
  readonly address: string;
  /** Aborted when it has left: a secret that has not been spent yet is kept for another attempt. */
  readonly gone: Pick<AbortSignal, 'aborted'>;
}

/**
 * Spends the establishment secret, in one commit.
 * @returns the stream secret, which is kept here as a hash only
 * @throws ServiceError `permission-denied`, the same for everything that can be wrong: whoever asks learns nothing. StateError
 */
export async function exchangeSecret(service: PeeringService, presented: PresentedSecret): Promise<string> {
  const { peerId, address, gone } = presented;
  const secret = presented.establishmentSecret.slice(0, SECRET_CHARACTERS_MAX);
  const streamSecret = randomUUID();
  const pending = hashOf(streamSecret);
  const origin: Origin = { actor: 'peer', address, requestId: '' };
  const spend = (tx: Transaction): void => {
    const stored = tx.get(peerings, peerId);
    const next = exchanged(tx.get(acceptedSecrets, peerId)?.row, secret, pending, tx.now);
    if (next === undefined || stored === undefined || stored.row.state === 'TERMINATED') {
      throw new ServiceError('permission-denied', 'invalid peering establishment secret');
    }
    tx.put(acceptedSecrets, next);
    recordPeeringChange(tx, origin, { action: 'exchange-secret', before: stored, after: stored });
  };
  await service.credentials.state.write(spend, { signal: gone });
  return streamSecret;
}
