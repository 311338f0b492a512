/** The way out of a session: an iterable that is asked for each message, and so says when the transport can take one. */
import type { ReplicationMessage } from '../wire/gen/peering/peerstream_pb.ts';

export interface MessagePort {
  readonly messages: AsyncIterable<ReplicationMessage>;
  /** Answers the question that `onAsked` told of. */
  give(message: ReplicationMessage): void;
  /** Ends the iterable: with `error`, or without. */
  finish(error: Error | undefined): void;
}

export interface MessagePortOptions {
  /** The transport waits for a message, and has taken the one before. */
  onAsked(): void;
  /** The transport will not ask again, although there was more to say. */
  onAbandoned(): void;
}

type Result = IteratorResult<ReplicationMessage, undefined>;

const DONE: Result = { done: true, value: undefined };

/**
 * No generator, since that could not be ended while it waits.
 *
 * Trap: an error is given once; who asks again is told that there is nothing more, as a generator would.
 */
export function createMessagePort({ onAsked, onAbandoned }: MessagePortOptions): MessagePort {
  let asked: PromiseWithResolvers<Result> | undefined;
  let finished = false;
  let error: Error | undefined;

  const answer = (): PromiseWithResolvers<Result> | undefined => {
    const waiting = asked;
    asked = undefined;
    return waiting;
  };

  const finish = (why: Error | undefined): void => {
    if (finished) return;
    finished = true;
    const waiting = answer();
    if (waiting === undefined) error = why;
    else if (why === undefined) waiting.resolve(DONE);
    else waiting.reject(why);
  };

  const abandon = (): Promise<Result> => {
    if (!finished) {
      finish(undefined);
      onAbandoned();
    }
    return Promise.resolve(DONE);
  };

  const iterator: AsyncIterator<ReplicationMessage, undefined> = {
    next() {
      if (asked !== undefined) return Promise.reject(new RangeError('a message was asked for while one was awaited'));
      if (finished) {
        const why = error;
        error = undefined;
        return why === undefined ? Promise.resolve(DONE) : Promise.reject(why);
      }
      const question = Promise.withResolvers<Result>();
      asked = question;
      onAsked();
      return question.promise;
    },
    return: abandon,
    throw: abandon,
  };

  return {
    messages: { [Symbol.asyncIterator]: () => iterator },
    give(message) {
      answer()?.resolve({ done: false, value: message });
    },
    finish,
  };
}
