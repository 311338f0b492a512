/** `GET /v1/peering/:name`: one record; can wait, also for one that is not there yet. */

import { type Asked, waitingAs } from '../credentials/operation.ts';
import { partitionKey } from '../credentials/partition.ts';
import type { Evaluate } from '../http/v1/reads.ts';
import { findPeering, peeringNotFound } from './find-peering.ts';
import { checkPeerName } from './peer-name.ts';
import { peerings } from './record.ts';
import type { PeeringService } from './service.ts';
import type { RecordTexts } from './show-record.ts';

/** @throws ServiceError `bad-request` */
export function readPeering({ credentials }: PeeringService, texts: RecordTexts, asked: Asked, name: string): Evaluate {
  checkPeerName(name);
  const { state } = credentials;
  return (snapshot) => {
    const { caller, partition, stored } = findPeering(credentials, snapshot, { asked, name, access: 'read' });
    if (stored !== undefined) {
      const watched = state.watchRow(peerings, stored.row.id);
      return { ...waitingAs(caller), watched, body: () => texts.read(stored) };
    }
    const watched = state.watchEntry(peerings, 'partition', partitionKey(partition));
    return { ...waitingAs(caller), watched, error: peeringNotFound(name) };
  };
}
