/**
 * The export digest of one stream ([STREAM-73] to [STREAM-76]). It is sent with a delay, so that most changed services
 * have been sent before it and a burst of changes needs one digest.
 */
import { hash } from 'node:crypto';
import { create, toBinary } from '@bufbuild/protobuf';
import type { Clock } from '../../../state/clock/clock.ts';
import { derivedFromBoth } from '../../../state/memory/derived-cache.ts';
import type { ServicePayload } from '../../export/service-payloads.ts';
import { DIGEST_INTERVAL_MS, DIGEST_SERVICES_PER_INTERVAL } from '../limits.ts';
import { ExportDigestSchema } from '../wire/gen/peering/digest_pb.ts';
import { type EncodedResource, RESOURCE_KINDS, type ResourceKey } from '../wire/resources.ts';

/** An exported service and its payload that was last sent on the stream. */
export interface SentService {
  readonly name: string;
  /** `undefined` when the service has not been sent. */
  readonly payload: ServicePayload | undefined;
}

export interface OutgoingDigestDependencies {
  readonly index: () => number;
  readonly clock: Clock;
  readonly services: () => readonly SentService[];
}

export interface OutgoingDigest {
  /** Subscribes the peer. Returns the resource ID. */
  ids(): readonly string[];
  read(): EncodedResource;
  /** Schedules a digest after a change. Calls `notify` with its key when it is due. */
  schedule(notify: (key: ResourceKey) => void): void;
  /** Stops sending digests, after a refusal or at the end of the stream. */
  end(): void;
}

const KEY: ResourceKey = { kind: 'digest', id: RESOURCE_KINDS.digest.id ?? '' };

export function outgoingDigest({ index, clock, services }: OutgoingDigestDependencies): OutgoingDigest {
  let isSubscribed = false;
  let cancel: (() => void) | undefined;

  return {
    ids() {
      isSubscribed = true;
      return [KEY.id];
    },
    read() {
      const header = { index: BigInt(index()), clockMs: BigInt(clock.now()) };
      // Concatenated protobuf messages are one message with all repeated fields.
      const encoded = [
        ...services().map(encodedEntry),
        toBinary(ExportDigestSchema, create(ExportDigestSchema, header)),
      ];
      return { ...KEY, encoded: Buffer.concat(encoded) };
    },
    schedule(notify) {
      if (!isSubscribed || cancel !== undefined) return;
      const pauses = Math.max(1, Math.ceil(services().length / DIGEST_SERVICES_PER_INTERVAL));
      cancel = clock.after(pauses * DIGEST_INTERVAL_MS, () => {
        cancel = undefined;
        notify(KEY);
      });
    },
    end() {
      isSubscribed = false;
      cancel?.();
      cancel = undefined;
    },
  };
}

function encodedEntry({ name, payload }: SentService): Uint8Array {
  // A service that was not sent has an empty hash ([STREAM-76]).
  if (payload === undefined || payload.tooLarge) return encodeEntry(name, new Uint8Array());
  return encodeSent(payload, name);
}

/** Hashes a payload once for all streams that have sent it. */
const encodeSent = derivedFromBoth((payload: ServicePayload, name: string) =>
  encodeEntry(name, hash('sha256', payload.encoded, 'buffer')),
);

const encodeEntry = (name: string, contentHash: Uint8Array): Uint8Array =>
  toBinary(ExportDigestSchema, create(ExportDigestSchema, { services: [{ name, hash: contentHash }] }));
