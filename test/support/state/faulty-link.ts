/** A link to the simulated etcd that delays, drops, and cuts messages at random, reproducible by a seed. */
import { Code, ConnectError, type Transport } from '@connectrpc/connect';
import { type Clock, sleep } from '../../../src/state/clock/clock.ts';
import type { Link } from '../../../src/state/engine/etcd/client/transport.ts';
import type { Random } from '../random.ts';

export interface LinkFaults {
  /** Longest delay in one direction. */
  delayMsMax: number;
  /** Probability that a request is lost before it is applied, and that its response is lost after. */
  cutBefore: number;
  cutAfter: number;
  /** Probability that a stream is cut at a message. */
  cutStream: number;
  /**
   * `silent`: no message passes and no call ends. `gone`: the same, permanently. `refused`: every call fails at once.
   */
  down: 'silent' | 'refused' | 'gone' | undefined;
}

/** A link for the engine with faults that a test controls. */
export interface FaultyLink extends Link {
  readonly faults: LinkFaults;
}

/** The codes with which a cut connection can fail a call. */
const CUT_CODES = [Code.Aborted, Code.Internal, Code.Unavailable] as const;

export function createFaultyLink(transport: Transport, clock: Clock, random: Random): FaultyLink {
  const faults: LinkFaults = { delayMsMax: 0, cutBefore: 0, cutAfter: 0, cutStream: 0, down: undefined };
  let session = new AbortController();

  const cut = (): ConnectError => new ConnectError('the connection was cut', random.pick(CUT_CODES));
  const cutWithProbability = (probability: number): void => {
    if (random.chance(probability)) throw cut();
  };
  /** Delays one message in one direction, and fails or holds it if the link is down. */
  const transmit = async (signal: AbortSignal): Promise<void> => {
    await sleep(clock, random.next() * faults.delayMsMax, signal);
    if (faults.down === 'refused') throw cut();
    if (faults.down !== undefined)
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  };
  /** Runs `action` until the call or the session ends. The end of the session fails the call like a cut connection. */
  const within = async <T>(call: AbortSignal | undefined, action: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const current = session.signal;
    try {
      return await action(call === undefined ? current : AbortSignal.any([call, current]));
    } catch (error) {
      throw current.aborted && !call?.aborted ? cut() : error;
    }
  };

  return {
    faults,
    drop(reason) {
      session.abort(reason);
      session = new AbortController();
    },
    transport: {
      unary(method, call, timeoutMs, header, input, context) {
        return within(call, async (signal) => {
          await transmit(signal);
          cutWithProbability(faults.cutBefore);
          const answer = await transport.unary(method, signal, timeoutMs, header, input, context);
          cutWithProbability(faults.cutAfter);
          await transmit(signal);
          return answer;
        });
      },
      stream(method, call, timeoutMs, header, input, context) {
        return within(call, async (signal) => {
          await transmit(signal);
          const answer = await transport.stream(method, signal, timeoutMs, header, input, context);
          return {
            ...answer,
            message: (async function* () {
              const messages = answer.message[Symbol.asyncIterator]();
              try {
                for (;;) {
                  const { done, value } = await within(call, () => messages.next());
                  if (done) return;
                  cutWithProbability(faults.cutStream);
                  await within(call, () => transmit(signal));
                  yield value;
                }
              } finally {
                await messages.return?.().catch(() => undefined);
              }
            })(),
          };
        });
      },
    },
  };
}
