/**
 * The lifecycle of short-lived peerings: establishes one between the clusters, waits until both sides are ACTIVE,
 * deletes it on one side, waits until the other side is TERMINATED, and deletes it there.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../test/support/random.ts';
import type { ApiRequest, Client, Result } from './client.ts';
import type { ClusterName } from './kinds/resource-kind.ts';
import { LIFECYCLE_ACTIVE_MS_MAX, LIFECYCLE_STEP_MS, POLL_MS, RETRY_PAUSE_MS } from './limits.ts';
import type { ServerProcess } from './server-process.ts';
import { dialAddresses, type Topology } from './topology.ts';
import type { ViolationLog } from './violation-log.ts';

export interface PeeringLifecycleOptions {
  readonly topology: Topology;
  readonly client: Client;
  readonly violations: ViolationLog;
  readonly random: Random;
  /** Milliseconds of a monotonic clock. */
  now(): number;
}

/** The checked fields of a record. */
interface PeeringRecord {
  readonly State: string;
  readonly DeletedAt?: string;
}

/**
 * The number of names in rotation. The deletion of a record is complete, or in progress, when its name is used again.
 */
const NAMES = 4;
/** Temporary rejections: the name is still in use, or a request whose response was lost has used the secret. */
const RETRYABLE = /is being (deleted|established)|invalid peering establishment secret/;

/** Runs lifecycles one after another until `signal` aborts. */
export async function runPeeringLifecycles(options: PeeringLifecycleOptions, signal: AbortSignal): Promise<void> {
  for (let count = 0; !signal.aborted; count += 1) {
    await runLifecycle(options, `soak-lifecycle-${count % NAMES}`, signal).catch((error: unknown) => {
      if (!(error instanceof LifecycleEnd)) throw error;
    });
  }
}

/** Ends a lifecycle early: after a violation, which has been reported, or because the run is over. */
class LifecycleEnd extends Error {
  override readonly name = 'LifecycleEnd';
}

/** Whether the request succeeded. For a read, "not found" is a success. */
const isSuccess = ({ method }: ApiRequest, { outcome, response }: Result): boolean =>
  outcome === 'done' || (method === 'GET' && response?.status === 404);

const isFinalRejection = (request: ApiRequest, result: Result): boolean =>
  result.outcome === 'rejected' && !isSuccess(request, result) && !RETRYABLE.test(result.text);

async function runLifecycle(options: PeeringLifecycleOptions, name: string, signal: AbortSignal): Promise<void> {
  const { topology, client, violations, random, now } = options;
  const [accepting, dialing]: readonly [ClusterName, ClusterName] = random.chance(0.5) ? ['a', 'b'] : ['b', 'a'];
  const path = `/v1/peering/${name}`;

  function violation(
    rule: string,
    request: ApiRequest,
    server: ServerProcess,
    response: string,
    expected: string,
  ): LifecycleEnd {
    violations.add({ rule, request: `${request.method} ${request.path}`, server: server.name, response, expected });
    return new LifecycleEnd();
  }

  async function send(server: ServerProcess, request: ApiRequest): Promise<Result> {
    const result = await client.send(server, request, { label: `peering lifecycle ${request.method}`, signal });
    if (signal.aborted) throw new LifecycleEnd();
    return result;
  }

  /** Sends the request to random servers of the cluster until it succeeds and the result is accepted. */
  async function sendUntil(
    cluster: ClusterName,
    request: ApiRequest,
    { rule, expected, accepts = () => true }: { rule: string; expected: string; accepts?: (result: Result) => boolean },
  ): Promise<Result> {
    const deadlineMs = now() + LIFECYCLE_STEP_MS;
    for (;;) {
      const server = random.pick(topology.serversOf(cluster));
      const result = await send(server, request);
      const { outcome, text } = result;
      if (isFinalRejection(request, result)) {
        throw violation('a valid request is not rejected', request, server, text, expected);
      }
      if (isSuccess(request, result) && accepts(result)) return result;
      if (now() > deadlineMs) {
        throw violation(rule, request, server, text, `${expected}, within ${LIFECYCLE_STEP_MS / 1000} s`);
      }
      await delay(outcome === 'done' ? POLL_MS : RETRY_PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  const recordIs =
    (accepts: (record: PeeringRecord | undefined) => boolean) =>
    ({ response }: Result): boolean =>
      accepts(response?.status === 200 ? response.json<PeeringRecord>() : undefined);
  const read: ApiRequest = { method: 'GET', path };

  /** Deletes the peering. Every server of the cluster must report that immediately. */
  async function deleteOn(cluster: ClusterName): Promise<void> {
    const rule = 'a deleted peering is TERMINATED';
    await sendUntil(cluster, { method: 'DELETE', path }, { rule, expected: 'a successful deletion' });
    for (const server of topology.serversOf(cluster)) {
      const { outcome, response, text } = await send(server, read);
      if (outcome !== 'done') continue;
      const record = response?.json<PeeringRecord>();
      if (record?.DeletedAt === undefined || record.State !== 'TERMINATED') {
        throw violation(rule, read, server, text, 'TERMINATED with DeletedAt, or 404: the deletion was acknowledged');
      }
    }
  }

  await establish();
  for (const cluster of [accepting, dialing]) {
    const rule = 'a new peering becomes ACTIVE';
    const accepts = recordIs((record) => record?.State === 'ACTIVE');
    await sendUntil(cluster, read, { rule, expected: 'ACTIVE', accepts });
  }
  await delay(random.below(LIFECYCLE_ACTIVE_MS_MAX), undefined, { signal }).catch(() => undefined);
  const [first, second] = random.chance(0.5) ? [accepting, dialing] : [dialing, accepting];
  await deleteOn(first);
  const accepts = recordIs((record) => record?.State === 'TERMINATED' && record.DeletedAt === undefined);
  const rule = 'the other side of a deleted peering becomes TERMINATED';
  await sendUntil(second, read, { rule, expected: 'TERMINATED without DeletedAt', accepts });
  await deleteOn(second);

  /** Establishes the peering. Generates a new token after every lost response, because a token works once. */
  async function establish(): Promise<void> {
    const rule = 'a peering can be established';
    const body = { PeerName: name, ServerExternalAddresses: dialAddresses(topology, accepting) };
    const deadlineMs = now() + LIFECYCLE_STEP_MS;
    for (;;) {
      const generate: ApiRequest = { method: 'POST', path: '/v1/peering/token', body };
      const generated = await sendUntil(accepting, generate, { rule, expected: 'a token' });
      const PeeringToken = generated.response?.json<{ PeeringToken: string }>().PeeringToken;
      const server = random.pick(topology.serversOf(dialing));
      const presented = { PeerName: name, PeeringToken };
      const request: ApiRequest = { method: 'POST', path: '/v1/peering/establish', body: presented };
      const result = await send(server, request);
      if (result.outcome === 'done') return;
      if (now() > deadlineMs || isFinalRejection(request, result)) {
        throw violation(rule, request, server, result.text, 'an established peering');
      }
      await delay(RETRY_PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
