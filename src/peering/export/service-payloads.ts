/** The encoded services, shared by all peers. A service is encoded again only when one of its instances has changed. */
import { runAtOnce } from '../../state/clock/slices.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { localInstances } from '../catalog/query/local-instances.ts';
import { catalogEntry } from '../catalog/tables/catalog-node.ts';
import type { Instance } from '../catalog/tables/instance.ts';
import { ENVELOPE_BYTES, MESSAGE_BYTES_MAX } from '../limits.ts';
import { encodeInstances } from './instance-to-wire.ts';

/** An encoded service. The object is the same as long as the bytes are the same. */
export interface ServicePayload {
  /** An encoded `ExportedService`. Empty when it is too large. */
  readonly encoded: Uint8Array;
  /** Estimated size of the message that contains it, in bytes. */
  readonly messageBytes: number;
  /** Whether the message would exceed the maximum size ([STREAM-50]). */
  readonly tooLarge: boolean;
}

interface CachedPayload {
  readonly instances: readonly Instance[];
  readonly payload: ServicePayload;
}

export interface ServicePayloads {
  /** Returns `undefined` when the service is not registered. */
  get(reader: Reader, partition: string, service: string): ServicePayload | undefined;
  /** Whether the service is cached. @param entry `catalogEntry` of partition and name */
  has(entry: string): boolean;
  /** Removes a service that is exported to no peer any more. */
  forget(entry: string): void;
  readonly encodingCount: number;
}

export function createServicePayloads(): ServicePayloads {
  const cache = new Map<string, CachedPayload>();
  let encodings = 0;

  function encode(service: string, instances: readonly Instance[], before: ServicePayload | undefined): ServicePayload {
    encodings += 1;
    const encoded = encodeInstances(instances);
    if (before !== undefined && !before.tooLarge && Buffer.compare(before.encoded, encoded) === 0) return before;
    return toPayload(service, encoded);
  }

  return {
    get encodingCount() {
      return encodings;
    },
    get(reader, partition, service) {
      const entry = catalogEntry(partition, service);
      const instances = runAtOnce(localInstances(reader, partition, service));
      const cached = cache.get(entry);
      if (instances.length === 0) {
        cache.delete(entry);
        return undefined;
      }
      if (cached !== undefined && sameInstances(cached.instances, instances)) return cached.payload;
      const payload = encode(service, instances, cached?.payload);
      cache.set(entry, { instances, payload });
      return payload;
    },
    has: (entry) => cache.has(entry),
    forget: (entry) => void cache.delete(entry),
  };
}

/** Compares by identity, because an unchanged instance is the same object. */
const sameInstances = (a: readonly Instance[], b: readonly Instance[]): boolean =>
  a.length === b.length && a.every((instance, i) => instance === b[i]);

const NO_BYTES = new Uint8Array();

function toPayload(service: string, encoded: Uint8Array): ServicePayload {
  const messageBytes = encoded.length + 4 * service.length + ENVELOPE_BYTES;
  const tooLarge = messageBytes > MESSAGE_BYTES_MAX;
  return { encoded: tooLarge ? NO_BYTES : encoded, messageBytes, tooLarge };
}

/** Returns the estimated size of the message with the current service, in bytes. */
export const serviceMessageBytes = (reader: Reader, partition: string, service: string): number =>
  toPayload(service, encodeInstances(runAtOnce(localInstances(reader, partition, service)))).messageBytes;
