/**
 * The model checker of one worker: sends requests about its resources, and compares every response with their models.
 */

import type { Answer } from '../test/support/process/server.ts';
import type { Random } from '../test/support/random.ts';
import type { ApiRequest, Client, Result, Target } from './client.ts';
import type { Observation, ResourceKind } from './kinds/resource-kind.ts';
import { ABSENT, type Outcome } from './model.ts';
import {
  appendHistory,
  currentValue,
  describeExpected,
  newTrackedResource,
  recordRead,
  recordWrite,
  type TrackedResource,
} from './tracked-resource.ts';
import type { ViolationLog } from './violation-log.ts';

export interface ModelCheckerOptions {
  readonly kind: ResourceKind;
  /** The number of the worker within its kind. */
  readonly worker: number;
  readonly client: Client;
  readonly violations: ViolationLog;
  readonly random: Random;
  /** Milliseconds of a monotonic clock. */
  now(): number;
}

/** A request with its result. */
export interface Exchange {
  readonly target: Target;
  readonly request: ApiRequest;
  readonly result: Result;
}

export interface ModelChecker {
  /** The resources of the worker. The other methods address one by its position here, `slot`. */
  readonly resources: readonly TrackedResource[];
  /** Lists the resources, and checks all of them. */
  readList(target: Target, signal: AbortSignal): Promise<Outcome>;
  /** Reads and checks one resource. Lists all of them if its ID is unknown. */
  readOne(slot: number, target: Target, signal: AbortSignal): Promise<Outcome>;
  /** Writes a value, or deletes the resource if the value is ABSENT. */
  write(slot: number, value: string, target: Target, signal: AbortSignal): Promise<Outcome>;
  /** Sends an invalid request, and checks that the server rejects it. */
  sendInvalid(slot: number, target: Target, signal: AbortSignal): Promise<Outcome>;
  /** Parses the response. Returns undefined without a parsable response, and reports a violation for an invalid one. */
  parse<T>(exchange: Exchange, parse: (response: Answer) => T): T | undefined;
  /** Reports a violation, with the history of the resource if it concerns one. */
  report(rule: string, exchange: Exchange, resource?: TrackedResource): void;
  /** Returns a value that differs from the current one. */
  nextValue(slot: number): string;
}

/** Creates a model checker for resources that do not exist yet. */
export function createModelChecker(options: ModelCheckerOptions): ModelChecker {
  const { kind, worker, client, violations, random, now } = options;
  const resources = Array.from({ length: kind.keysPerWorker }, (_, slot) => newTrackedResource(kind.key(worker, slot)));
  let writes = 0;

  const update = (slot: number, resource: TrackedResource, line: string): void => {
    resources[slot] = appendHistory(resource, line);
  };

  async function exchange(
    target: Target,
    request: ApiRequest,
    label: string,
    signal: AbortSignal,
  ): Promise<Exchange & { readonly outcome: Outcome }> {
    const result = await client.send(target, request, { label: `${kind.name} ${label}`, signal });
    return { target, request, result, outcome: result.outcome };
  }

  const reportText = (rule: string, { target, request }: Exchange, text: string, resource?: TrackedResource): void =>
    violations.add({
      rule,
      request: `${request.method} ${request.path}${request.body === undefined ? '' : ` ${JSON.stringify(request.body)}`}`,
      server: target.name,
      response: text,
      expected: resource === undefined ? 'a valid response' : `${resource.key}: ${describeExpected(resource)}`,
      history: resource?.history ?? [],
    });

  const report = (rule: string, sent: Exchange, resource?: TrackedResource): void =>
    reportText(rule, sent, sent.result.text, resource);

  function parse<T>(sent: Exchange, parseResponse: (response: Answer) => T): T | undefined {
    const { response, outcome } = sent.result;
    if (response === undefined || (outcome !== 'done' && response.status !== 404)) {
      if (outcome === 'rejected') report('a valid request is not rejected', sent);
      return undefined;
    }
    try {
      return parseResponse(response);
    } catch {
      report('a response has the format of the API', sent);
      return undefined;
    }
  }

  function check(slot: number, observed: Observation, sent: Exchange): void {
    const before = resources[slot] as TrackedResource; // A valid slot.
    const { resource, isWrong } = recordRead(before, observed, now());
    if (isWrong) report('a read returns the acknowledged value', sent, before);
    const { response } = sent.result;
    const index = Number(response?.headers['x-service-index'] ?? Number.POSITIVE_INFINITY);
    if (index < resource.index) {
      reportText('an index includes every observed change', sent, `index ${index}: ${response?.text}`, before);
    }
    const at = observed.index === undefined ? '' : ` (index ${observed.index})`;
    update(slot, resource, `read ${observed.value}${at} on ${sent.target.name}`);
  }

  async function readList(target: Target, signal: AbortSignal): Promise<Outcome> {
    const sent = await exchange(target, kind.list(worker), 'list', signal);
    const found = parse(sent, kind.parseList);
    if (found === undefined) return sent.outcome;
    for (const slot of resources.keys()) {
      check(slot, found.get(kind.key(worker, slot)) ?? { value: ABSENT }, sent);
    }
    return sent.outcome;
  }

  async function readOne(slot: number, target: Target, signal: AbortSignal): Promise<Outcome> {
    const { key, id } = resources[slot] as TrackedResource; // A valid slot.
    const request = kind.read(key, id);
    if (request === undefined) return await readList(target, signal);
    const sent = await exchange(target, request, 'read', signal);
    const observed = parse(sent, (response) => kind.parseRead(response, key));
    if (observed !== undefined) check(slot, observed, sent);
    return sent.outcome;
  }

  async function write(slot: number, value: string, target: Target, signal: AbortSignal): Promise<Outcome> {
    const resource = resources[slot] as TrackedResource; // A valid slot.
    const { key, id } = resource;
    const isDelete = value === ABSENT;
    const request = isDelete ? kind.delete(key, id) : kind.put(key, value, id);
    const sent = await exchange(target, request, isDelete ? 'delete' : 'put', signal);
    const { outcome } = sent;
    if (outcome === 'rejected' && kind.isBusy?.(sent.result.text) !== true) {
      report('a valid request is not rejected', sent, resource);
    }
    const hasBody = kind.putReturnsResource && outcome === 'done' && !isDelete;
    const observed = hasBody ? parse(sent, (response) => kind.parseRead(response, key)) : undefined;
    if (observed !== undefined && observed.value !== value) {
      report('a write returns the written value', sent, resource);
    }
    update(
      slot,
      recordWrite(resource, { value, outcome, observed, nowMs: now() }),
      `${isDelete ? 'delete' : `put ${value}`} on ${target.name}: ${outcome}`,
    );
    return outcome;
  }

  async function sendInvalid(slot: number, target: Target, signal: AbortSignal): Promise<Outcome> {
    const resource = resources[slot] as TrackedResource; // A valid slot.
    const { request, status } = random.pick(kind.invalidRequests(resource.key, resource.id));
    const sent = await exchange(target, request, 'invalid', signal);
    const { response, text } = sent.result;
    const isAnswered = response !== undefined && sent.outcome !== 'unavailable' && sent.outcome !== 'unknown';
    if (isAnswered && response.status !== status) {
      report(`an invalid request is rejected with ${status}`, sent, resource);
    }
    update(slot, resource, `invalid request on ${target.name}: ${response?.status ?? text}`);
    return sent.outcome;
  }

  function nextValue(slot: number): string {
    const current = currentValue(resources[slot] as TrackedResource);
    do writes += 1;
    while (kind.value(writes) === current);
    return kind.value(writes);
  }

  return { resources, readList, readOne, write, sendInvalid, parse, report, nextValue };
}
