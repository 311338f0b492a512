/** Streams as a server holds them, without a peer at the other end: what can be told of services on them is the test's to say. */
import assert from 'node:assert/strict';
import { create } from '@bufbuild/protobuf';
import type { HeldStreams } from '../../../src/peering/explain/local-stream.ts';
import { nameEntry, peerings, streamOpened } from '../../../src/peering/record/record.ts';
import type { Fate, StreamInsight, Taken } from '../../../src/peering/stream/status/delivery-status.ts';
import { ExportDigestSchema } from '../../../src/peering/stream/wire/gen/peering/digest_pb.ts';
import type { Api } from '../process/api.ts';

/** What a stream can tell. */
export interface Told {
  /** True unless given. */
  readonly isAccord?: boolean;
  readonly fate?: Fate;
  readonly taken?: Omit<Taken, 'order'>;
  /** Hashes by the names of services, base64url; undefined: no digest has come. */
  readonly digest?: Readonly<Record<string, string>>;
}

type Held = HeldStreams['live'] extends ReadonlyMap<string, infer T> ? T : never;

/** To be given to an API, and filled afterwards. */
export const heldStreams = (): Map<string, Held> => new Map();

/** A stream of the peering opens on this server, or on another one that is named. */
export async function openStream(
  api: Api,
  live: Map<string, Held>,
  name: string,
  { told = {}, server }: { readonly told?: Told; readonly server?: string } = {},
): Promise<void> {
  const { id, epoch } = await api.state.write((tx) => {
    const stored = tx.find(peerings, 'name', nameEntry('default', name));
    const row = stored && streamOpened(stored.row, { node: server ?? 'here', incarnation: '1' });
    assert.ok(row);
    tx.put(peerings, row);
    return row;
  });
  if (server === undefined) live.set(id, { epoch, insight: insightOf(told) });
}

function insightOf({ isAccord = true, fate = { kind: 'unsent' }, taken, digest }: Told): StreamInsight {
  const services = Object.entries(digest ?? {}).map(([name, hash]) => ({ name, hash: Buffer.from(hash, 'base64url') }));
  const message = create(ExportDigestSchema, { services, index: 7n, clockMs: 1_000n });
  return {
    peerVersion: isAccord ? '1.13.0' : undefined,
    fate: () => fate,
    incoming: {
      taken: () => taken && { ...taken, order: 1 },
      listOrder: 1,
      digest: () => (digest === undefined ? undefined : { digest: message, atMs: 2_000, order: 2 }),
    },
  };
}
