/** What the server that holds a stream can tell about single services on it. Kept in memory, and gone with the stream. */
import type { Refusal } from '../contract.ts';
import type { ExportDigest } from '../wire/gen/peering/digest_pb.ts';

/** What became of a service that goes to the peer. */
export type Fate =
  /** It is as it is now not on its way yet. */
  | { readonly kind: 'unsent' }
  /** No message can carry it. */
  | { readonly kind: 'too-large'; readonly bytes: number }
  /** It was sent as it is now, and the peer has not answered. */
  | { readonly kind: 'unanswered' }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** The peer has taken it as it is now. */
  | { readonly kind: 'acknowledged' };

/** What came of a service from the peer. */
export interface Taken {
  /** SHA-256 of the ExportedService as it last came, base64url. */
  readonly contentHash: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Where it stands among everything that the stream has brought; a digest with a lower one knows nothing of it. */
  readonly order: number;
}

/** The last digest of the peer. */
export interface ReceivedDigest {
  readonly digest: ExportDigest;
  readonly atMs: number;
  readonly order: number;
}

/** What goes out on a stream. */
export interface OutgoingInsight {
  /** Of what is exported. */
  fate(service: string): Fate;
}

/** What has come in on it. */
export interface IncomingInsight {
  /** Undefined: nothing has come on this stream that was taken. */
  taken(service: string): Taken | undefined;
  /** Where the newest list stands that was taken, as in `Taken`; undefined: none was. */
  readonly listOrder: number | undefined;
  /** Undefined: none has come yet. */
  digest(): ReceivedDigest | undefined;
}

export interface StreamInsight extends OutgoingInsight {
  /** What the other side says its version is; undefined: nothing, so it is no Accord. */
  readonly peerVersion: string | undefined;
  readonly incoming: IncomingInsight;
}

/** Puts together what both directions tell. */
export const insightOf = (
  peerVersion: string | undefined,
  outgoing: OutgoingInsight,
  { notes: incoming }: { readonly notes: IncomingInsight },
): StreamInsight => ({ peerVersion, fate: outgoing.fate, incoming });
