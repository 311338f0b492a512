/** `GET /v1/peering/:name`: one record; can wait, also for one that is not there yet. */
import type { Asked } from '../../credentials/operation.ts';
import type { Evaluate } from '../../http/blocking/reads.ts';
import { readOfPeering } from '../find/peering-read.ts';
import type { PeeringService } from '../peering-context.ts';
import type { RecordTexts } from '../record/record-to-json.ts';

/** @throws ServiceError `bad-request` */
export function readPeering(service: PeeringService, texts: RecordTexts, asked: Asked, name: string): Evaluate {
  return readOfPeering(service, { asked, name, access: 'read' }, (stored) => ({ body: () => texts.read(stored) }));
}
