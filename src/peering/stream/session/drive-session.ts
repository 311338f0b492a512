/**
 * Runs a session (`session.ts`) on what is real: a clock, the messages of a call, the resources of a peering. It decides
 * nothing; it turns what happens into events and brings effects about.
 *
 * What Connect gives and takes: the call asks for the next outgoing message when it has written the one before as far as
 * HTTP/2's flow control allows, and gets the next incoming one when we ask. So a slow reader or a slow application at
 * either end is felt at the other one, and nothing is buffered between but HTTP/2's own windows.
 */

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
import { messageBytes, messageKind, readMessage } from '../wire/messages.ts';
import { applyResource } from './apply-resource.ts';
import { createAlarm } from './deadline-timer.ts';
import { createMessagePort } from './outgoing-messages.ts';
import { readFailure, statusError } from './read-failure.ts';
import { outgoingMessage } from './read-outgoing.ts';
import { mayRead, nextTickAt, step } from './session.ts';
import { createSession, type Effect, type Event, type EventOf } from './session-state.ts';

/** An event whose time is that of its step. */
type Happening = { readonly [E in Event['type']]: Omit<EventOf<E>, 'at'> }[Event['type']];

interface Resources {
  readonly outgoing: OutgoingResources;
  readonly incoming: IncomingResources;
}

/** Begins the session of a call: one that was received (`accepting`), or that is made (`dialing`). */
export function driveSession(options: SessionOptions): SessionHandle {
  const { clock, times, owner } = options;
  const open = options.side === 'dialing' ? options.open : undefined;
  const session = createSession({ times, at: clock.monotonic(), open });
  const ended = Promise.withResolvers<SessionEnd>();
  const confirmed = Promise.withResolvers<boolean>();
  const reset = new AbortController();
  const applications = new AbortController();
  const happenings: Happening[] = [];
  const timer = createAlarm(clock, () => happen({ type: 'tick' }));
  let resources: Resources | undefined = options.side === 'dialing' ? options : undefined;
  let stopFollowing: (() => void) | undefined;
  let stepping = false;
  let resumeReading: (() => void) | undefined;
  let cancelReset: (() => void) | undefined;
  let cancelLoss: (() => void) | undefined;
  let readingIsOver = false;

  const failed = (error: unknown): void => owner.failed?.(error);

  const port = createMessagePort({
    onAsked: () => happen({ type: 'ready' }),
    onAbandoned: () => loseSoon('the call was cancelled'),
  });

  /**
   * The connection is gone. What it brought before may still be unread, and what ended it comes last: so who reads has a
   * while to find out.
   */
  function loseSoon(message: string): void {
    if (session.phase.name !== 'ended')
      cancelLoss ??= clock.after(CLOSING_MS, () => happen({ type: 'failed', message }));
  }

  /** Lets something happen; what an effect makes happen follows when all effects of its step are brought about. */
  function happen(happening: Happening): void {
    happenings.push(happening);
    if (stepping) return;
    stepping = true;
    for (let next = happenings.shift(); next !== undefined; next = happenings.shift()) {
      try {
        // Every variant of an event has its time.
        for (const effect of step(session, { ...next, at: clock.monotonic() } as Event)) perform(effect);
      } catch (error) {
        failed(error);
        // The rules let a fault happen at any time, so this ends.
        if (next.type !== 'fault') happenings.push({ type: 'fault', error });
      }
    }
    stepping = false;
    settle();
  }

  /** Brings what stands beside the session into line with it. */
  function settle(): void {
    const { name } = session.phase;
    if (name === 'ending' || name === 'ended') {
      applications.abort();
      stopFollowing?.();
      stopFollowing = undefined;
    }
    timer.set(nextTickAt(session));
    if (mayRead(session) || name === 'ended') resumeReading?.();
  }

  function perform(effect: Effect): void {
    switch (effect.type) {
      case 'send':
        give(effect.message);
        break;
      case 'send-resource': {
        const message = resources && outgoingMessage(resources.outgoing, effect, failed);
        if (message === undefined) happen({ type: 'not-sent', nonce: effect.nonce });
        else give(message);
        break;
      }
      case 'authorize':
        void ask(effect.open);
        break;
      case 'opened':
        stopFollowing = resources?.outgoing.follow((key) => happen({ type: 'changed', keys: [key] }));
        owner.opened?.();
        break;
      case 'enumerate': {
        const { kind } = effect;
        const ids = resources?.outgoing.ids(kind) ?? [];
        happen({ type: 'changed', keys: ids.map((id) => ({ kind, id })) });
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
        // Only the accepting side has a status to give; the dialing side just says nothing more.
        port.finish(session.side === 'accepting' ? statusError(effect.status) : undefined);
        break;
      case 'reset':
        reset.abort();
        break;
      case 'ended':
        finish(effect.end);
        break;
    }
  }

  function give(message: ReplicationMessage): void {
    port.give(message);
    owner.sent?.(messageKind(message), messageBytes(message));
  }

  function finish(end: SessionEnd): void {
    port.finish(undefined);
    cancelLoss?.();
    if (!readingIsOver) cancelReset = clock.after(CLOSING_MS, () => reset.abort());
    ended.resolve(end);
  }

  async function ask(open: Open): Promise<void> {
    try {
      const answer = options.side === 'accepting' ? await options.owner.authorize(open) : undefined;
      if (answer?.kind === 'accepted') {
        resources = answer;
        happen({ type: 'authorized' });
      } else if (answer !== undefined) {
        happen(answer.kind === 'refused' ? { type: 'refused', status: answer.status } : { type: 'deleted' });
      }
    } catch (error) {
      failed(error);
      happen({ type: 'fault', error });
    }
  }

  async function apply({ key, content, first }: Extract<Effect, { type: 'apply' }>): Promise<void> {
    if (resources === undefined) return;
    const { incoming } = resources;
    happen(await applyResource({ incoming, key, content, first, signal: applications.signal, failed }));
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
        // After the end what still comes is read and dropped, so that the other side's last writes do not fail.
        if (session.phase.name === 'ended') continue;
        owner.received?.(kind, messageBytes(next.value));
        if (kind === 'terminated') await owner.terminated?.();
        happen(readMessage(next.value));
      }
      happen({ type: 'closed', status: { code: undefined, message: '' } });
    } catch (error) {
      happen(readFailure(error));
    } finally {
      confirmed.resolve(false);
      readingIsOver = true;
      cancelReset?.();
    }
  }

  /** Resolves when the session reads, or has ended. */
  async function untilReading(): Promise<void> {
    while (!mayRead(session) && session.phase.name !== 'ended') {
      await new Promise<void>((resolve) => {
        resumeReading = resolve;
      });
    }
    resumeReading = undefined;
  }

  settle();
  return {
    outgoing: port.messages,
    reset: reset.signal,
    ended: ended.promise,
    confirmed: confirmed.promise,
    counters: session.counters,
    receive(incoming, gone) {
      const onGone = (): void => loseSoon('the connection is gone');
      if (gone?.aborted === true) onGone();
      else gone?.addEventListener('abort', onGone, { once: true });
      void read(incoming);
    },
    terminate: () => happen({ type: 'terminate' }),
    stop: (reason, leader) => happen({ type: 'stop', reason, leader }),
    subscribe: (kind) => happen({ type: 'wanted', kind }),
  };
}
