/**
 * The digest of what one stream has sent, for a peer that asks for it: another Accord. It follows changes at a distance,
 * so that what has changed was most likely sent by then, and a burst of changes is one digest.
 */
import { hash } from 'node:crypto';
import { create, toBinary } from '@bufbuild/protobuf';
import type { Clock } from '../../../state/clock/clock.ts';
import type { Content } from '../../export/service-payloads.ts';
import { DIGEST_PAUSE_MS, DIGEST_SERVICES_A_PAUSE } from '../limits.ts';
import { ExportDigestSchema } from '../wire/gen/peering/digest_pb.ts';
import { type EncodedResource, RESOURCE_KINDS, type ResourceKey } from '../wire/resources.ts';

/** A service that is exported, with what of it was last sent on the stream. */
export interface SentService {
  readonly name: string;
  /** Undefined: nothing. */
  readonly content: Content | undefined;
}

export interface OutgoingDigestParts {
  /** The state's index now. */
  readonly index: () => number;
  readonly clock: Clock;
  /** Everything that is exported to the peer. */
  readonly services: () => readonly SentService[];
}

export interface OutgoingDigest {
  /** The peer asks for it. */
  ids(): readonly string[];
  read(): EncodedResource;
  /** What is exported has changed: `tell` is called with the digest's key when it is due. */
  touch(tell: (key: ResourceKey) => void): void;
  /** The peer does not take it, or the stream has ended: no more is sent. */
  end(): void;
}

const KEY: ResourceKey = { kind: 'digest', id: RESOURCE_KINDS.digest.id ?? '' };

/** Of one stream. */
export function outgoingDigest({ index, clock, services }: OutgoingDigestParts): OutgoingDigest {
  let wanted = false;
  let cancel: (() => void) | undefined;

  return {
    ids() {
      wanted = true;
      return [KEY.id];
    },
    read() {
      const made = { index: BigInt(index()), clockMs: BigInt(clock.now()) };
      // Messages that stand one behind the other are one message with all that they list.
      const parts = [...services().map(entryOf), toBinary(ExportDigestSchema, create(ExportDigestSchema, made))];
      return { ...KEY, encoded: Buffer.concat(parts) };
    },
    touch(tell) {
      if (!wanted || cancel !== undefined) return;
      const pauses = Math.max(1, Math.ceil(services().length / DIGEST_SERVICES_A_PAUSE));
      cancel = clock.after(pauses * DIGEST_PAUSE_MS, () => {
        cancel = undefined;
        tell(KEY);
      });
    },
    end() {
      wanted = false;
      cancel?.();
      cancel = undefined;
    },
  };
}

interface Entry {
  readonly name: string;
  readonly encoded: Uint8Array;
}

/** Made once for all streams that have sent the same. */
const entries = new WeakMap<Content, Entry>();

function entryOf({ name, content }: SentService): Uint8Array {
  // What cannot be sent is named without a hash: the peer has nothing that it could be the hash of.
  if (content === undefined || content.tooLarge) return encodeEntry(name, new Uint8Array());
  let entry = entries.get(content);
  if (entry?.name !== name) {
    entry = { name, encoded: encodeEntry(name, hash('sha256', content.encoded, 'buffer')) };
    entries.set(content, entry);
  }
  return entry.encoded;
}

const encodeEntry = (name: string, contentHash: Uint8Array): Uint8Array =>
  toBinary(ExportDigestSchema, create(ExportDigestSchema, { services: [{ name, hash: contentHash }] }));
