/** `GET /v1/peering/:name`: one record; can wait, also for one that is not there yet. */
import type { Asked } from '../credentials/operation.ts';
import type { Evaluate } from '../http/v1/reads.ts';
import { readOfPeering } from './read-of-peering.ts';
import type { PeeringService } from './service.ts';
import type { RecordTexts } from './show-record.ts';

/** @throws ServiceError `bad-request` */
export function readPeering(service: PeeringService, texts: RecordTexts, asked: Asked, name: string): Evaluate {
  return readOfPeering(service, { asked, name, access: 'read' }, (stored) => ({ body: () => texts.read(stored) }));
}
