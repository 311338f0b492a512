/** Decodes and applies one received resource, and returns the outcome as an event for the session. */
import { Code } from '@connectrpc/connect';
import { ApplyRefused, type IncomingResources, type Refusal, SessionSuperseded, type StopReason } from '../contract.ts';
import { boundedLine, decodeResource } from '../wire/messages.ts';
import type { Resource, ResourceKey } from '../wire/resources.ts';

export interface ApplyRequest {
  readonly incoming: IncomingResources;
  readonly key: ResourceKey;
  readonly content: Uint8Array;
  readonly first: boolean;
  readonly signal: AbortSignal;
  /** Receives unexpected errors, for the log. */
  failed(error: unknown): void;
}

export type ApplyOutcome =
  | { readonly type: 'applied'; readonly key: ResourceKey }
  | { readonly type: 'not-applied'; readonly key: ResourceKey; readonly refusal: Refusal }
  | { readonly type: 'stop'; readonly reason: StopReason };

/** Applies the resource. Never rejects. */
export async function applyResource(request: ApplyRequest): Promise<ApplyOutcome> {
  const { incoming, key, content, first, signal } = request;
  let resource: Resource;
  try {
    resource = decodeResource(request);
  } catch (error) {
    const reason = boundedLine(`the resource cannot be decoded: ${(error as Error).message}`);
    const rejected = notApplied(key, Code.InvalidArgument, reason);
    return await outcomeOf(request, () => incoming.undecodable(key, reason, signal), rejected);
  }
  return await outcomeOf(request, () => incoming.apply(resource, first, signal, content), { type: 'applied', key });
}

/** Runs `work`. @returns `success`, or the outcome that the error of `work` stands for */
async function outcomeOf(
  { key, signal, failed }: ApplyRequest,
  work: () => Promise<void>,
  success: ApplyOutcome,
): Promise<ApplyOutcome> {
  try {
    await work();
    return success;
  } catch (error) {
    if (error instanceof SessionSuperseded) return { type: 'stop', reason: 'superseded' };
    if (error instanceof ApplyRefused) return notApplied(key, error.code, boundedLine(error.message));
    if (!signal.aborted) failed(error);
    return success.type === 'not-applied' ? success : notApplied(key, Code.Internal, 'internal error');
  }
}

const notApplied = (key: ResourceKey, code: Code, message: string): ApplyOutcome => ({
  type: 'not-applied',
  key,
  refusal: { code, message },
});
