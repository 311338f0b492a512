/** Location of a peering's stream, as this server sees it. */
import type { DeepReadonly } from '../../state/table.ts';
import type { Peering } from '../record/record.ts';
import type { StreamDelivery } from '../stream/status/delivery-status.ts';
import type { LiveStream } from '../stream/status/live-streams.ts';

export type StreamLocation =
  | { readonly kind: 'none' }
  /** Another server of the cluster holds the stream. */
  | { readonly kind: 'elsewhere'; readonly server: string }
  | { readonly kind: 'here'; readonly insight: StreamDelivery };

export interface LocalStreams {
  /** This server's name. */
  readonly node: string;
  readonly live: ReadonlyMap<string, Pick<LiveStream, 'epoch' | 'delivery'>>;
}

export function locateStream({ node, live }: LocalStreams, { id, stream }: DeepReadonly<Peering>): StreamLocation {
  if (stream === undefined) return { kind: 'none' };
  const held = live.get(id);
  if (held?.epoch === stream.epoch) return { kind: 'here', insight: held.delivery };
  // A stream of this server that is not live is opening or closing.
  return stream.node === node ? { kind: 'none' } : { kind: 'elsewhere', server: stream.node };
}
