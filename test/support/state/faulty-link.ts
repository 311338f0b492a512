/** A way to the simulated etcd that delays, cuts and swallows, as its seed says. */
import { Code, ConnectError, type Transport } from '@connectrpc/connect';
import { type Clock, sleep } from '../../../src/state/clock/clock.ts';
import type { Link } from '../../../src/state/engine/etcd/client/transport.ts';
import type { Random } from '../random.ts';

export interface LinkFaults {
  /** Longest time of one way. */
  delayMsMax: number;
  /** Probability that a request is lost before it is applied, and that its answer is lost after. */
  cutBefore: number;
  cutAfter: number;
  /** Probability that a stream is cut at a message. */
  cutStream: number;
  /** `silent`: nothing passes and nothing ends, `gone`: for good; `refused`: every call fails at once. */
  down: 'silent' | 'refused' | 'gone' | undefined;
}

/** A link for the engine, and what a test can do to it. */
export interface FaultyLink extends Link {
  readonly faults: LinkFaults;
}

/** How a cut connection shows itself. */
const CUT_CODES = [Code.Aborted, Code.Internal, Code.Unavailable] as const;

export function createFaultyLink(transport: Transport, clock: Clock, random: Random): FaultyLink {
  const faults: LinkFaults = { delayMsMax: 0, cutBefore: 0, cutAfter: 0, cutStream: 0, down: undefined };
  let session = new AbortController();

  const cut = (): ConnectError => new ConnectError('the connection was cut', random.pick(CUT_CODES));
  const loseAt = (probability: number): void => {
    if (random.chance(probability)) throw cut();
  };
  /** One way of a message. */
  const pass = async (signal: AbortSignal): Promise<void> => {
    await sleep(clock, random.next() * faults.delayMsMax, signal);
    if (faults.down === 'refused') throw cut();
    if (faults.down !== undefined)
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  };
  /** Ends with the call or with the session; the session's end looks like a cut. */
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
          await pass(signal);
          loseAt(faults.cutBefore);
          const answer = await transport.unary(method, signal, timeoutMs, header, input, context);
          loseAt(faults.cutAfter);
          await pass(signal);
          return answer;
        });
      },
      stream(method, call, timeoutMs, header, input, context) {
        return within(call, async (signal) => {
          await pass(signal);
          const answer = await transport.stream(method, signal, timeoutMs, header, input, context);
          return {
            ...answer,
            message: (async function* () {
              const messages = answer.message[Symbol.asyncIterator]();
              try {
                for (;;) {
                  const { done, value } = await within(call, () => messages.next());
                  if (done) return;
                  loseAt(faults.cutStream);
                  await within(call, () => pass(signal));
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
