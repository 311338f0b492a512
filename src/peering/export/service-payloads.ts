/**
 * What services look like to peers, as bytes: made once for all who get a service, and again only when something in it
 * has changed. Nothing here decides who gets what.
 */
import type { Reader } from '../../state/memory/reader.ts';
import { localInstances } from '../catalog/query/local-instances.ts';
import { catalogEntry } from '../catalog/tables/catalog-node.ts';
import type { Instance } from '../catalog/tables/instance.ts';
import { MESSAGE_BYTES_MAX } from '../limits.ts';
import { ENVELOPE_BYTES } from '../stream/limits.ts';
import { encodeInstances } from './instance-to-wire.ts';

/** A service as it goes to every peer that gets it; the same object as long as the bytes are the same. */
export interface Content {
  /** An encoded ExportedService; empty bytes when it is too large. */
  readonly encoded: Uint8Array;
  /** About the bytes of the message that carries it. */
  readonly messageBytes: number;
  /** No message can carry it. */
  readonly tooLarge: boolean;
}

interface Kept {
  readonly instances: readonly Instance[];
  readonly content: Content;
}

export interface Contents {
  /** Undefined: it is not registered. */
  of(reader: Reader, partition: string, service: string): Content | undefined;
  /** Whether bytes of the service are kept. @param entry `catalogEntry` of partition and name */
  has(entry: string): boolean;
  /** Nobody gets the service any more. */
  forget(entry: string): void;
  /** How often a service was encoded so far. */
  readonly encodings: number;
}

/** Nothing kept yet. */
export function createContents(): Contents {
  const kept = new Map<string, Kept>();
  let encodings = 0;

  function renew(service: string, instances: readonly Instance[], before: Content | undefined): Content {
    encodings += 1;
    const encoded = encodeInstances(instances);
    if (before !== undefined && !before.tooLarge && Buffer.compare(before.encoded, encoded) === 0) return before;
    return contentOf(service, encoded);
  }

  return {
    get encodings() {
      return encodings;
    },
    of(reader, partition, service) {
      const entry = catalogEntry(partition, service);
      const instances = localInstances(reader, partition, service);
      const known = kept.get(entry);
      if (instances.length === 0) {
        kept.delete(entry);
        return undefined;
      }
      if (known !== undefined && isSame(known.instances, instances)) return known.content;
      const content = renew(service, instances, known?.content);
      kept.set(entry, { instances, content });
      return content;
    },
    has: (entry) => kept.has(entry),
    forget: (entry) => void kept.delete(entry),
  };
}

/** Instances are the same objects as long as nothing in them changes. */
const isSame = (a: readonly Instance[], b: readonly Instance[]): boolean =>
  a.length === b.length && a.every((instance, i) => instance === b[i]);

const NO_BYTES = new Uint8Array();

function contentOf(service: string, encoded: Uint8Array): Content {
  const messageBytes = encoded.length + 4 * service.length + ENVELOPE_BYTES;
  const tooLarge = messageBytes > MESSAGE_BYTES_MAX;
  return { encoded: tooLarge ? NO_BYTES : encoded, messageBytes, tooLarge };
}

/** The bytes of a message with the service as it is now, whoever gets it. */
export const messageBytesOf = (reader: Reader, partition: string, service: string): number =>
  contentOf(service, encodeInstances(localInstances(reader, partition, service))).messageBytes;
