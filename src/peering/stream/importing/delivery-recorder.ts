/** Records what a stream has received, for the explanation and comparison of imported services. */
import { fromBinary } from '@bufbuild/protobuf';
import type { Clock } from '../../../state/clock/clock.ts';
import { nameKey } from '../../config-entries/config-entry.ts';
import type { AppliedService, IncomingDelivery, ReceivedDigest } from '../status/delivery-status.ts';
import { ExportDigestSchema } from '../wire/gen/peering/digest_pb.ts';

export interface DeliveryRecorder extends IncomingDelivery {
  /**
   * Records a service that was applied or is unchanged. Without `isKept` the server keeps nothing of it, and neither
   * does the recorder, so that services in no list cannot fill it ([STREAM-97]).
   */
  recordService(service: string, contentHash: string, isKept: boolean): void;
  /** Records an applied list and drops the services that it omits. @param names in the form of `nameKey` */
  recordList(names: ReadonlySet<string>): void;
  recordDigest(encoded: Uint8Array): void;
}

export function createDeliveryRecorder(clock: Pick<Clock, 'now'>): DeliveryRecorder {
  const applied = new Map<string, AppliedService>();
  let order = 0;
  let listOrder: number | undefined;
  /** Kept encoded, because a decoded digest is many times as large and is rarely read. */
  let digest: (Omit<ReceivedDigest, 'digest'> & { readonly encoded: Uint8Array }) | undefined;

  const next = (): number => {
    order += 1;
    return order;
  };

  return {
    recordService(service, contentHash, isKept) {
      if (!isKept) applied.delete(nameKey(service));
      else applied.set(nameKey(service), { contentHash, atMs: clock.now(), order: next() });
    },
    recordList(names) {
      listOrder = next();
      for (const name of applied.keys()) if (!names.has(name)) applied.delete(name);
    },
    recordDigest(encoded) {
      // Copies the bytes, because they may be part of a larger buffer.
      digest = { encoded: encoded.slice(), atMs: clock.now(), order: next() };
    },
    applied: (service) => applied.get(nameKey(service)),
    digest() {
      if (digest === undefined) return undefined;
      const { encoded, atMs, order: at } = digest;
      return { digest: fromBinary(ExportDigestSchema, encoded), atMs, order: at };
    },
    get listOrder() {
      return listOrder;
    },
  };
}
