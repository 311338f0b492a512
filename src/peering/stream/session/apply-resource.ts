/** Decodes one received resource and has it applied; what became of it, as the event for the session. */
import { Code } from '@connectrpc/connect';
import { ApplyRefused, type IncomingResources, type Refusal, SessionSuperseded, type StopReason } from '../contract.ts';
import { bounded, decodeResource } from '../wire/messages.ts';
import type { Resource, ResourceKey } from '../wire/resources.ts';

export interface Applying {
  readonly incoming: IncomingResources;
  readonly key: ResourceKey;
  readonly content: Uint8Array;
  readonly first: boolean;
  readonly signal: AbortSignal;
  /** Told of what `apply` must not throw. */
  failed(error: unknown): void;
}

export type Applied =
  | { readonly type: 'applied'; readonly key: ResourceKey }
  | { readonly type: 'not-applied'; readonly key: ResourceKey; readonly refusal: Refusal }
  | { readonly type: 'stop'; readonly reason: StopReason };

/** Never rejects. */
export async function applyResource(applying: Applying): Promise<Applied> {
  const { incoming, key, first, signal } = applying;
  let resource: Resource;
  try {
    resource = decodeResource(applying);
  } catch (error) {
    const reason = bounded(`the resource cannot be decoded: ${(error as Error).message}`);
    return await settled(
      applying,
      () => incoming.undecodable(key, reason, signal),
      notApplied(key, Code.InvalidArgument, reason),
    );
  }
  return await settled(applying, () => incoming.apply(resource, first, signal, applying.content), {
    type: 'applied',
    key,
  });
}

/** @returns `done`, unless the work says something else by what it throws */
async function settled({ key, signal, failed }: Applying, work: () => Promise<void>, done: Applied): Promise<Applied> {
  try {
    await work();
    return done;
  } catch (error) {
    if (error instanceof SessionSuperseded) return { type: 'stop', reason: 'superseded' };
    if (error instanceof ApplyRefused) return notApplied(key, error.code, bounded(error.message));
    if (!signal.aborted) failed(error);
    return done.type === 'not-applied' ? done : notApplied(key, Code.Internal, 'internal error');
  }
}

const notApplied = (key: ResourceKey, code: Code, message: string): Applied => ({
  type: 'not-applied',
  key,
  refusal: { code, message },
});
