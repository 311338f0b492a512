/** Streams of a server without a peer. The test sets what they report about the delivery of services. */
import assert from 'node:assert/strict';
import { create } from '@bufbuild/protobuf';
import type { LocalStreams } from '../../../src/peering/explain/local-stream.ts';
import { nameEntry, peerings, streamOpened } from '../../../src/peering/record/record.ts';
import type {
  AppliedService,
  DeliveryStatus,
  StreamDelivery,
} from '../../../src/peering/stream/status/delivery-status.ts';
import { ExportDigestSchema } from '../../../src/peering/stream/wire/gen/peering/digest_pb.ts';
import type { Api } from '../process/api.ts';

/** The answers of a stream about the delivery of services. */
export interface FakeDelivery {
  /** Defaults to true. */
  readonly isAccord?: boolean;
  readonly status?: DeliveryStatus;
  readonly applied?: Omit<AppliedService, 'order'>;
  /** Hashes in base64url by service name. Undefined when no digest was received. */
  readonly digest?: Readonly<Record<string, string>>;
}

type HeldStream = LocalStreams['live'] extends ReadonlyMap<string, infer T> ? T : never;

/** Creates the map of live streams that an API reads. */
export const createStreamMap = (): Map<string, HeldStream> => new Map();

/** Opens a stream of a peering on this server, or on `server`. */
export async function openFakeStream(
  api: Api,
  live: Map<string, HeldStream>,
  name: string,
  { delivery = {}, server }: { readonly delivery?: FakeDelivery; readonly server?: string } = {},
): Promise<void> {
  const { id, epoch } = await api.state.write((tx) => {
    const stored = tx.find(peerings, 'name', nameEntry('default', name));
    const row = stored && streamOpened(stored.row, { node: server ?? 'here', incarnation: '1' });
    assert.ok(row);
    tx.put(peerings, row);
    return row;
  });
  if (server === undefined) live.set(id, { epoch, delivery: deliveryOf(delivery) });
}

function deliveryOf({ isAccord = true, status = { kind: 'unsent' }, applied, digest }: FakeDelivery): StreamDelivery {
  const services = Object.entries(digest ?? {}).map(([name, hash]) => ({ name, hash: Buffer.from(hash, 'base64url') }));
  const message = create(ExportDigestSchema, { services, index: 7n, clockMs: 1_000n });
  return {
    peerVersion: isAccord ? '1.13.0' : undefined,
    deliveryStatus: () => status,
    incoming: {
      applied: () => applied && { ...applied, order: 1 },
      listOrder: 1,
      digest: () => (digest === undefined ? undefined : { digest: message, atMs: 2_000, order: 2 }),
    },
  };
}
