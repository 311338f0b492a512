/** The stream of a peering, as this server sees it. */
import type { DeepReadonly } from '../../state/table.ts';
import type { Peering } from '../record/record.ts';
import type { StreamInsight } from '../stream/status/delivery-status.ts';
import type { LiveStream } from '../stream/status/live-streams.ts';

export type HeldStream =
  | { readonly kind: 'none' }
  /** Another server of the cluster holds it, and it alone knows what is on it. */
  | { readonly kind: 'elsewhere'; readonly server: string }
  | { readonly kind: 'here'; readonly insight: StreamInsight };

/** What this server knows of streams. */
export interface HeldStreams {
  /** This server's name. */
  readonly node: string;
  readonly live: ReadonlyMap<string, Pick<LiveStream, 'epoch' | 'insight'>>;
}

/** The stream that the record names. */
export function heldStream({ node, live }: HeldStreams, { id, stream }: DeepReadonly<Peering>): HeldStream {
  if (stream === undefined) return { kind: 'none' };
  const held = live.get(id);
  if (held?.epoch === stream.epoch) return { kind: 'here', insight: held.insight };
  // It is this server's, and on the point of beginning or ending.
  return stream.node === node ? { kind: 'none' } : { kind: 'elsewhere', server: stream.node };
}
