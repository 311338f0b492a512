/** What a stream has brought, noted for who asks why a service is not there. */
import { fromBinary } from '@bufbuild/protobuf';
import type { Clock } from '../../../state/clock/clock.ts';
import { nameKey } from '../../config-entries/config-entry.ts';
import type { IncomingInsight, ReceivedDigest, Taken } from '../status/delivery-status.ts';
import { ExportDigestSchema } from '../wire/gen/peering/digest_pb.ts';

export interface IncomingNotes extends IncomingInsight {
  /** A service was taken, or is as it was. */
  note(service: string, contentHash: string): void;
  /** A list was taken: what it does not name is forgotten. @param names in the form in which names are compared */
  noteList(names: ReadonlySet<string>): void;
  /** A digest has come, encoded. */
  noteDigest(encoded: Uint8Array): void;
}

/** Nothing has come yet. */
export function createIncomingNotes(clock: Pick<Clock, 'now'>): IncomingNotes {
  const taken = new Map<string, Taken>();
  let order = 0;
  let listOrder: number | undefined;
  /** Decoded it would be many times as large, and hardly anybody asks. */
  let digest: (Omit<ReceivedDigest, 'digest'> & { readonly encoded: Uint8Array }) | undefined;

  const next = (): number => {
    order += 1;
    return order;
  };

  return {
    note(service, contentHash) {
      taken.set(nameKey(service), { contentHash, atMs: clock.now(), order: next() });
    },
    noteList(names) {
      listOrder = next();
      for (const name of taken.keys()) if (!names.has(name)) taken.delete(name);
    },
    noteDigest(encoded) {
      // A copy: what came may be a part of something larger.
      digest = { encoded: encoded.slice(), atMs: clock.now(), order: next() };
    },
    taken: (service) => taken.get(nameKey(service)),
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
