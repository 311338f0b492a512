/**
 * Divides the memory of the process among rows, caches, and responses, so that a full server rejects writes with 507
 * instead of dying [SRV-30].
 *
 * The whole state is in V8's old generation. A process that reaches the limit of the old generation crashes, and crashes
 * again at every start, because loading the same rows needs the same memory. A process that exceeds the memory of its
 * container is killed. So the smaller of the two counts, and rows count with their estimated bytes.
 *
 * The plan is an estimate instead of the heap's current size, because that size includes garbage and is exact only after
 * a full collection. One large response at the wrong time would reject writes until the next collection.
 */
import { ANSWER_LIMITS, type AnswerLimits } from '../http/answer-limits.ts';
import { StateError } from '../state/errors.ts';
import { DERIVED_LIMITS, type DerivedLimits } from '../state/memory/derived-cache.ts';
import type { MemoryCapacity } from '../state/memory/memory-capacity.ts';
import {
  ANSWER_SHARE,
  BODIES_BYTES_MIN,
  BODIES_SHARE,
  BODY_BYTES_MIN,
  BODY_SHARE,
  CACHE_SHARE,
  FRAGMENT_SHARE,
  HEAP_BASE_BYTES,
  LOAD_SHARE,
  OLD_GENERATION_BYTES_MIN,
  PRETTY_CHARACTERS_MIN,
  PRETTY_SHARE,
  ROW_SHARE,
  ROW_SHARE_SHARED_STORE,
  UNSENT_SHARE,
} from './limits.ts';

export interface MemoryPlan {
  readonly rows: MemoryCapacity;
  readonly derived: DerivedLimits;
  readonly answers: AnswerLimits;
  /** Upper limit of `limits.bulk-body`, because parsed JSON can take 21 times its text. */
  readonly bodyBytesMax: number;
  /** Upper limit of `limits.bodies`. */
  readonly bodiesBytesMax: number;
}

export interface MemoryOptions {
  /** The limit of V8's old generation: see `oldGenerationBytes`. */
  readonly oldGenerationBytes: number;
  /** Whether other servers change the store too. A reload then holds the rows twice. */
  readonly sharedStore: boolean;
}

/** @throws StateError `memory-full` if the process has less than the minimum */
export function planMemory({ oldGenerationBytes, sharedStore }: MemoryOptions): MemoryPlan {
  if (oldGenerationBytes < OLD_GENERATION_BYTES_MIN) {
    const text = `V8's heap may use ${mebibytes(oldGenerationBytes)} MiB, but a server needs at least ${mebibytes(OLD_GENERATION_BYTES_MIN)}: ${REMEDY}`;
    throw new StateError('memory-full', text);
  }
  const available = oldGenerationBytes - HEAP_BASE_BYTES;
  const share = (part: number): number => Math.floor(available * part);
  return {
    rows: {
      bytesMax: share(sharedStore ? ROW_SHARE_SHARED_STORE : ROW_SHARE),
      loadBytesMax: share(LOAD_SHARE),
      reason: `the heap of ${mebibytes(oldGenerationBytes)} MiB has no room for more; remove rows, or ${REMEDY}`,
    },
    derived: {
      cacheBytesMax: Math.min(DERIVED_LIMITS.cacheBytesMax, share(CACHE_SHARE)),
      fragmentBytesMax: Math.min(DERIVED_LIMITS.fragmentBytesMax, share(FRAGMENT_SHARE)),
    },
    answers: {
      charactersMax: Math.min(ANSWER_LIMITS.charactersMax, share(ANSWER_SHARE)),
      prettyCharactersMax: Math.min(
        ANSWER_LIMITS.prettyCharactersMax,
        Math.max(PRETTY_CHARACTERS_MIN, share(PRETTY_SHARE)),
      ),
      unsentBytesMax: Math.min(ANSWER_LIMITS.unsentBytesMax, share(UNSENT_SHARE)),
    },
    bodyBytesMax: Math.max(BODY_BYTES_MIN, share(BODY_SHARE)),
    bodiesBytesMax: Math.max(BODIES_BYTES_MIN, share(BODIES_SHARE)),
  };
}

const REMEDY = 'give the server more memory (NODE_OPTIONS=--max-old-space-size=…, in MiB)';

const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);
