/** Decodes one received resource and has it applied; what became of it, as the event for the session. */
import { Code } from '@connectrpc/connect';
import { ApplyRefused, type IncomingResources, type Refusal, SessionSuperseded, type StopReason } from './contract.ts';
import { bounded, decodeResource } from './messages.ts';
import type { Resource, ResourceKey } from './resources.ts';

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
  const refused = (code: Code, message: string): Applied => ({ type: 'not-applied', key, refusal: { code, message } });
  let resource: Resource;
  try {
    resource = decodeResource(applying);
  } catch (error) {
    return refused(Code.InvalidArgument, bounded(`the resource cannot be decoded: ${(error as Error).message}`));
  }
  try {
    await incoming.apply(resource, first, signal, applying.content);
    return { type: 'applied', key };
  } catch (error) {
    if (error instanceof SessionSuperseded) return { type: 'stop', reason: 'superseded' };
    if (error instanceof ApplyRefused) return refused(error.code, bounded(error.message));
    if (!signal.aborted) applying.failed(error);
    return refused(Code.Internal, 'internal error');
  }
}
