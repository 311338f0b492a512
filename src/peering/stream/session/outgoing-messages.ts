/** The outgoing messages of a session: an async iterable that reports when the transport asks for the next message. */
import type { ReplicationMessage } from '../wire/gen/peering/peerstream_pb.ts';

export interface OutgoingMessages {
  readonly messages: AsyncIterable<ReplicationMessage>;
  /** Delivers the message that the transport waits for. Call it once after each `onReady`. */
  send(message: ReplicationMessage): void;
  /** Ends the iterable, with an error if one is given. */
  end(error: Error | undefined): void;
}

export interface OutgoingMessagesOptions {
  /** The transport has written the previous message and waits for the next. */
  onReady(): void;
  /** The transport has stopped iterating before the end. */
  onCanceled(): void;
}

type Result = IteratorResult<ReplicationMessage, undefined>;

const DONE: Result = { done: true, value: undefined };

/**
 * Creates the iterable. It is no generator, because a generator cannot be ended while it waits. As in a generator, an
 * error is thrown once, and later calls of `next` return done.
 */
export function createOutgoingMessages({ onReady, onCanceled }: OutgoingMessagesOptions): OutgoingMessages {
  let pending: PromiseWithResolvers<Result> | undefined;
  let hasEnded = false;
  let endError: Error | undefined;

  const takePending = (): PromiseWithResolvers<Result> | undefined => {
    const taken = pending;
    pending = undefined;
    return taken;
  };

  const end = (error: Error | undefined): void => {
    if (hasEnded) return;
    hasEnded = true;
    const waiting = takePending();
    if (waiting === undefined) endError = error;
    else if (error === undefined) waiting.resolve(DONE);
    else waiting.reject(error);
  };

  const cancel = (): Promise<Result> => {
    if (!hasEnded) {
      end(undefined);
      onCanceled();
    }
    return Promise.resolve(DONE);
  };

  const iterator: AsyncIterator<ReplicationMessage, undefined> = {
    next() {
      if (pending !== undefined) return Promise.reject(new RangeError('next was called while a call was pending'));
      if (hasEnded) {
        const error = endError;
        endError = undefined;
        return error === undefined ? Promise.resolve(DONE) : Promise.reject(error);
      }
      const next = Promise.withResolvers<Result>();
      pending = next;
      onReady();
      return next.promise;
    },
    return: cancel,
    throw: cancel,
  };

  return {
    messages: { [Symbol.asyncIterator]: () => iterator },
    send(message) {
      takePending()?.resolve({ done: false, value: message });
    },
    end,
  };
}
