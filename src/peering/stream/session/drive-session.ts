/**
 * Runs a session (`session.ts`) with a clock, the messages of a call, and the resources of a peering. The driver makes
 * no decisions: it turns what happens into events, and performs the effects.
 *
 * Flow control: Connect asks for the next outgoing message when HTTP/2 flow control has let it write the previous one,
 * and reads the next incoming message when the driver asks. A slow reader or a slow apply therefore slows the other
 * side, and only HTTP/2's own windows buffer messages.
 */

import { MESSAGE_BYTES_MAX } from '../../limits.ts';
import type {
  IncomingResources,
  Open,
  OutgoingResources,
  SessionEnd,
  SessionHandle,
  SessionOptions,
} from '../contract.ts';
import { CLOSING_MS } from '../limits.ts';
import type { ReplicationMessage } from '../wire/gen/peering/peerstream_pb.ts';
import { encodeResource, messageBytes, messageKind, readMessage, responseMessage } from '../wire/messages.ts';
import { applyResource } from './apply-resource.ts';
import { createDeadlineTimer } from './deadline-timer.ts';
import { createOutgoingMessages } from './outgoing-messages.ts';
import { readFailure, statusError } from './read-failure.ts';
import { canRead, nextTickAt, step } from './session.ts';
import { createSession, type Effect, type Event, type EventOf } from './session-state.ts';

/** An event without its time, which is the time of its step. */
type UntimedEvent = { readonly [E in Event['type']]: Omit<EventOf<E>, 'at'> }[Event['type']];

type EffectOf<T extends Effect['type']> = Extract<Effect, { readonly type: T }>;

interface Resources {
  readonly outgoing: OutgoingResources;
  readonly incoming: IncomingResources;
}

export function driveSession(options: SessionOptions): SessionHandle {
  const { clock, times, callbacks } = options;
  const open = options.side === 'dialing' ? options.open : undefined;
  const session = createSession({ times, at: clock.monotonic(), open });
  const ended = Promise.withResolvers<SessionEnd>();
  const confirmed = Promise.withResolvers<boolean>();
  const reset = new AbortController();
  const applying = new AbortController();
  const events: UntimedEvent[] = [];
  const timer = createDeadlineTimer(clock, () => dispatch({ type: 'tick' }));
  let resources: Resources | undefined = options.side === 'dialing' ? options : undefined;
  let unfollow: (() => void) | undefined;
  let isStepping = false;
  let resumeReading: (() => void) | undefined;
  let cancelReset: (() => void) | undefined;
  let cancelFailure: (() => void) | undefined;
  let hasReadAll = false;

  const failed = (error: unknown): void => callbacks.failed?.(error);

  const outgoing = createOutgoingMessages({
    onReady: () => dispatch({ type: 'ready' }),
    onCanceled: () => failSoon('the call was canceled'),
  });

  /** Fails the session after CLOSING_MS. Messages and the error that ended the stream may still be unread. */
  function failSoon(message: string): void {
    if (session.phase.name === 'ended') return;
    cancelFailure ??= clock.after(CLOSING_MS, () => dispatch({ type: 'failed', message }));
  }

  /** Applies `event` to the session. An event from an effect waits until the step's effects are done. */
  function dispatch(event: UntimedEvent): void {
    events.push(event);
    if (isStepping) return;
    isStepping = true;
    for (let next = events.shift(); next !== undefined; next = events.shift()) {
      try {
        // TypeScript does not see that every variant of an event has its time.
        for (const effect of step(session, { ...next, at: clock.monotonic() } as Event)) perform(effect);
      } catch (error) {
        failed(error);
        // The loop ends, because the table allows a fault in every phase.
        if (next.type !== 'fault') events.push({ type: 'fault', error });
      }
    }
    isStepping = false;
    followPhase();
  }

  /** Updates timers, reading, and running applies after the phase may have changed. */
  function followPhase(): void {
    const { name } = session.phase;
    if (name === 'ending' || name === 'ended') {
      applying.abort();
      unfollow?.();
      unfollow = undefined;
    }
    timer.set(nextTickAt(session));
    if (canRead(session) || name === 'ended') resumeReading?.();
  }

  function perform(effect: Effect): void {
    switch (effect.type) {
      case 'send':
        send(effect.message);
        break;
      case 'send-resource': {
        const message = resources && readOutgoing(resources.outgoing, effect, failed);
        if (message === undefined) dispatch({ type: 'not-sent', nonce: effect.nonce });
        else send(message);
        break;
      }
      case 'authorize':
        void authorize(effect.open);
        break;
      case 'opened':
        unfollow = resources?.outgoing.follow((key) => dispatch({ type: 'changed', keys: [key] }));
        callbacks.opened?.();
        break;
      case 'enumerate': {
        const { kind } = effect;
        const ids = resources?.outgoing.ids(kind) ?? [];
        dispatch({ type: 'changed', keys: ids.map((id) => ({ kind, id })) });
        break;
      }
      case 'apply':
        void apply(effect);
        break;
      case 'acknowledged':
        resources?.outgoing.acknowledged(effect.key, effect.afterMs);
        break;
      case 'refused':
        resources?.outgoing.refused(effect.key, effect.refusal);
        break;
      case 'close':
        // Only the accepting side can send a status. The dialing side ends its messages.
        outgoing.end(session.side === 'accepting' ? statusError(effect.status) : undefined);
        break;
      case 'reset':
        reset.abort();
        break;
      case 'ended':
        finish(effect.end);
        break;
    }
  }

  function send(message: ReplicationMessage): void {
    outgoing.send(message);
    callbacks.sent?.(messageKind(message), messageBytes(message));
  }

  function finish(end: SessionEnd): void {
    outgoing.end(undefined);
    cancelFailure?.();
    if (!hasReadAll) cancelReset = clock.after(CLOSING_MS, () => reset.abort());
    ended.resolve(end);
  }

  async function authorize(open: Open): Promise<void> {
    try {
      const answer = options.side === 'accepting' ? await options.callbacks.authorize(open) : undefined;
      if (answer?.kind === 'accepted') {
        resources = answer;
        dispatch({ type: 'authorized' });
      } else if (answer !== undefined) {
        dispatch(answer.kind === 'refused' ? { type: 'refused', status: answer.status } : { type: 'deleted' });
      }
    } catch (error) {
      failed(error);
      dispatch({ type: 'fault', error });
    }
  }

  async function apply({ key, content, first }: EffectOf<'apply'>): Promise<void> {
    if (resources === undefined) return;
    const { incoming } = resources;
    dispatch(await applyResource({ incoming, key, content, first, signal: applying.signal, failed }));
  }

  async function read(incoming: AsyncIterable<ReplicationMessage>): Promise<void> {
    const iterator = incoming[Symbol.asyncIterator]();
    try {
      for (;;) {
        await untilReading();
        const next = await iterator.next();
        if (next.done === true) break;
        const kind = messageKind(next.value);
        if (kind === 'terminated') confirmed.resolve(true);
        // Messages after the end are read and dropped, so that the peer's last writes do not fail.
        if (session.phase.name === 'ended') continue;
        callbacks.received?.(kind, messageBytes(next.value));
        if (kind === 'terminated') await callbacks.terminated?.();
        dispatch(readMessage(next.value));
      }
      dispatch({ type: 'closed', status: { code: undefined, message: '' } });
    } catch (error) {
      dispatch(readFailure(error));
    } finally {
      confirmed.resolve(false);
      hasReadAll = true;
      cancelReset?.();
    }
  }

  /** Waits until the session may read, or has ended. */
  async function untilReading(): Promise<void> {
    while (!canRead(session) && session.phase.name !== 'ended') {
      await new Promise<void>((resolve) => {
        resumeReading = resolve;
      });
    }
    resumeReading = undefined;
  }

  followPhase();
  return {
    outgoing: outgoing.messages,
    reset: reset.signal,
    ended: ended.promise,
    confirmed: confirmed.promise,
    counters: session.counters,
    receive(incoming, disconnected) {
      const onDisconnected = (): void => failSoon('the connection was closed');
      if (disconnected?.aborted === true) onDisconnected();
      else disconnected?.addEventListener('abort', onDisconnected, { once: true });
      void read(incoming);
    },
    terminate: () => dispatch({ type: 'terminate' }),
    stop: (reason, leader) => dispatch({ type: 'stop', reason, leader }),
    subscribe: (kind) => dispatch({ type: 'subscribe', kind }),
  };
}

/**
 * Reads a resource and returns its response. Undefined if nothing is to be sent: the resource is deleted and has no
 * empty form, is unchanged, is larger than MESSAGE_BYTES_MAX, or cannot be read.
 */
function readOutgoing(
  outgoing: OutgoingResources,
  { key, nonce }: EffectOf<'send-resource'>,
  failed: (error: unknown) => void,
): ReplicationMessage | undefined {
  try {
    const content = encodeResource(key, outgoing.read(key));
    if (content === undefined) return undefined;
    const message = responseMessage(key, nonce, content);
    const bytes = messageBytes(message);
    if (bytes <= MESSAGE_BYTES_MAX) return message;
    outgoing.tooLarge(key, bytes);
  } catch (error) {
    failed(error);
  }
  return undefined;
}
