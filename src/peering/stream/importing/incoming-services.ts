/**
 * Applies the services that a peer exports. Services that arrive in parallel share a commit. An unchanged service
 * causes no commit ([STREAM-56]), because a peer sends everything again after a reconnect. A service that is not
 * accepted is refused and marked ([STREAM-67]); the other services are applied.
 */
import { hash } from 'node:crypto';
import { Code } from '@connectrpc/connect';
import { type Clock, sleep } from '../../../state/clock/clock.ts';
import { isStateError } from '../../../state/errors.ts';
import { REMOVAL_BATCH_ROWS } from '../../../state/limits.ts';
import type { State } from '../../../state/state.ts';
import type { DeepReadonly, Table } from '../../../state/table.ts';
import { importProblems } from '../../catalog/tables/import-problem.ts';
import { type ImportedService, importedServiceKey, importedServices } from '../../catalog/tables/imported-service.ts';
import type { Instance } from '../../catalog/tables/instance.ts';
import { nameKey } from '../../config-entries/config-entry.ts';
import { DNS_NAME_CHARACTERS_MAX, IMPORT_PROBLEMS_MAX } from '../../limits.ts';
import { peerings, recordBytes } from '../../record/record.ts';
import { ApplyRefused } from '../contract.ts';
import { FOUND_AT_ONCE_MAX, FOUND_DELAY_MS } from '../limits.ts';
import type { ExportedService, ExportedServiceList } from '../wire/gen/peering/peerstream_pb.ts';
import { boundedLine } from '../wire/messages.ts';
import { checkInstance } from './check-instance.ts';
import type { DeliveryRecorder } from './delivery-recorder.ts';
import type { FencedWrites } from './fenced-writes.ts';
import { foundIn, isListed, isSameList, putFound } from './found-services.ts';
import type { ImportBudget } from './import-budgets.ts';
import { type Amount, amountFor, createImportUsage, IMPORTS_MAX, type ImportUsage } from './import-usage.ts';
import { instanceFromWire } from './instance-from-wire.ts';
import { checkServiceName, checkServiceNames, isValidServiceName } from './service-names.ts';

export interface ReceivedService {
  readonly name: string;
  readonly message: ExportedService;
  readonly encoded: Uint8Array;
}

export interface IncomingServices {
  /** Deletes the services that the list omits ([STREAM-57]). @throws ApplyRefused, SessionSuperseded, StateError */
  list(message: ExportedServiceList, signal: AbortSignal): Promise<void>;
  /** Applies a service. @throws ApplyRefused, SessionSuperseded, StateError */
  service(received: ReceivedService, signal: AbortSignal): Promise<void>;
  /** Marks a service that could not be decoded, if its name is valid. @throws SessionSuperseded, StateError */
  undecodable(service: string, reason: string, signal: AbortSignal): Promise<void>;
}

interface PeeringRow {
  readonly peeringId: string;
  readonly service: string;
}

/** The previous and the next row of one service, or `undefined` without a row. */
interface Replacement {
  readonly before: DeepReadonly<ImportedService> | undefined;
  readonly after: ImportedService | undefined;
}

export interface IncomingServicesDependencies {
  readonly state: State;
  readonly clock: Clock;
  readonly writes: FencedWrites;
  readonly recorder: Pick<DeliveryRecorder, 'recordService' | 'recordList'>;
  readonly budget: ImportBudget;
}

/** Creates the receiver of a stream's services. @param most the limits of the peer */
export function incomingServices(
  { state, clock, writes, recorder, budget }: IncomingServicesDependencies,
  peeringId: string,
  most: Amount = IMPORTS_MAX,
): IncomingServices {
  /** Counted when it is first needed. Only the current stream changes the imports of a peer. */
  let usage: ImportUsage | undefined;
  let isFoundDue = false;

  async function list({ Services }: ExportedServiceList, signal: AbortSignal): Promise<void> {
    const names = checkServiceNames(Services);
    const row = await writes.current();
    const found = foundIn(state.snapshot, peeringId, names);
    // Commits the names first, so that the record never names a service whose row is deleted.
    if (!isSameList(row.imported, names) || !isSameList(row.found ?? [], found)) {
      await writes.write(recordBytes({ ...row, imported: names, found }), signal, (tx, now) =>
        tx.put(peerings, { ...now, imported: names, found: foundIn(tx, peeringId, names) }),
      );
    }
    const named = new Set(names.map((name) => importedServiceKey(peeringId, name)));
    // Counts again later, because a deletion below can fail. A list is applied alone ([STREAM-51]).
    usage = undefined;
    await deleteUnlisted(importedServices, named, signal);
    await deleteUnlisted(importProblems, named, signal);
    recorder.recordList(new Set(names.map(nameKey)));
  }

  async function deleteUnlisted<Row extends PeeringRow>(
    table: Table<Row, 'peering'>,
    named: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<void> {
    const keys = state.snapshot
      .list(table, 'peering', peeringId)
      .map(({ row: { service } }) => importedServiceKey(peeringId, service))
      .filter((key) => !named.has(key));
    for (let from = 0; from < keys.length; from += REMOVAL_BATCH_ROWS) {
      await writes.write(REMOVAL_BATCH_ROWS * DNS_NAME_CHARACTERS_MAX, signal, (tx) => {
        for (const key of keys.slice(from, from + REMOVAL_BATCH_ROWS)) tx.delete(table, key);
      });
    }
  }

  async function service(received: ReceivedService, signal: AbortSignal): Promise<void> {
    try {
      checkServiceName(received.name);
    } catch (error) {
      budget.countRefused();
      throw error;
    }
    try {
      const contentHash = hash('sha256', received.encoded, 'base64url');
      await applyService({ ...received, contentHash }, signal);
      recorder.recordService(received.name, contentHash, isKept(received.name));
    } catch (error) {
      const refusal = toRefusal(error);
      if (refusal === undefined) throw error;
      budget.countRefused();
      await mark(received.name, refusal.message, signal);
      throw refusal;
    }
  }

  /** Whether the server keeps anything of the service: its row, or its name in the list ([STREAM-97]). */
  function isKept(service: string): boolean {
    const { snapshot } = state;
    const row = snapshot.get(peerings, peeringId)?.row;
    const key = importedServiceKey(peeringId, service);
    return snapshot.get(importedServices, key) !== undefined || (row !== undefined && isListed(row, service));
  }

  async function applyService(
    { name, message, contentHash }: ReceivedService & { readonly contentHash: string },
    signal: AbortSignal,
  ): Promise<void> {
    const key = importedServiceKey(peeringId, name);
    await writes.current();
    const { snapshot } = state;
    const existing = snapshot.get(importedServices, key)?.row;
    const marked = snapshot.get(importProblems, key) !== undefined;
    const hasSameHash = existing?.service === name && existing.contentHash === contentHash;
    if (hasSameHash && !marked) return;
    const instances = hasSameHash ? existing.instances : instancesOf(name, message);
    const json = JSON.stringify(instances);
    const bytes = Buffer.byteLength(json);
    // A peer may encode equal maps in another order each time.
    const isSame =
      existing?.service === name && existing.bytes === bytes && JSON.stringify(existing.instances) === json;
    if (!marked && isSame) return;
    if (!marked && existing === undefined && instances.length === 0) return;
    const row = { peeringId, service: name, contentHash, instances, bytes };
    await replaceRow(key, { before: existing, after: instances.length === 0 ? undefined : row }, signal);
  }

  /** Replaces the row of a service and removes its mark. @throws ApplyRefused with the name of a limit */
  async function replaceRow(key: string, { before, after }: Replacement, signal: AbortSignal): Promise<void> {
    usage ??= createImportUsage(
      state.snapshot.list(importedServices, 'peering', peeringId).map(({ row }) => row),
      most,
    );
    const undo = usage.replace(amountFor(before), amountFor(after));
    const isNew = (before === undefined) !== (after === undefined);
    const service = before?.service ?? after?.service ?? '';
    const record = isNew ? await writes.current() : undefined;
    // A record with many names is written later, once for many services that are found for the first time.
    const changesRecord = record !== undefined && (after === undefined || record.imported.length <= FOUND_AT_ONCE_MAX);
    try {
      await writes.write((after?.bytes ?? 0) + (changesRecord ? recordBytes(record) : 0), signal, (tx, now) => {
        tx.delete(importProblems, key);
        if (after === undefined) tx.delete(importedServices, key);
        else tx.put(importedServices, after);
        if (changesRecord && isListed(now, service)) putFound(tx, now);
      });
    } catch (error) {
      undo();
      throw error;
    } finally {
      budget.setUsed(usage.used);
    }
    if (isNew && !changesRecord) void refreshFound(signal);
  }

  /** Updates `found` of the record after FOUND_DELAY_MS. A failure is made up for by the next change, or the next list. */
  async function refreshFound(signal: AbortSignal): Promise<void> {
    if (isFoundDue) return;
    isFoundDue = true;
    try {
      await sleep(clock, FOUND_DELAY_MS, signal);
      isFoundDue = false;
      await writes.write(recordBytes(await writes.current()), signal, putFound);
    } catch {
      isFoundDue = false;
    }
  }

  /** Marks a service as refused. Its previous version stays. A state without room for the mark stays without it. */
  async function mark(service: string, message: string, signal: AbortSignal): Promise<void> {
    const key = importedServiceKey(peeringId, service);
    const reason = boundedLine(message);
    if (state.snapshot.get(importProblems, key)?.row.reason === reason) return;
    const write = writes.write(service.length + reason.length, signal, (tx) => {
      const existing = tx.get(importProblems, key)?.row;
      if (existing?.reason === reason) return;
      const all = tx.list(importProblems, 'peering', peeringId, { limit: IMPORT_PROBLEMS_MAX });
      if (existing === undefined && all.length === IMPORT_PROBLEMS_MAX) return;
      tx.put(importProblems, { peeringId, service, reason, since: new Date(tx.now).toISOString() });
    });
    await write.catch((error: unknown) => {
      if (!isStateError(error, 'rows-max', 'quota')) throw error;
    });
  }

  return {
    list,
    service,
    async undecodable(name, reason, signal) {
      budget.countRefused();
      if (isValidServiceName(name)) await mark(name, reason, signal);
    },
  };
}

/** Returns the NACK for an error, or `undefined` for an error of this server. */
export function toRefusal(error: unknown): ApplyRefused | undefined {
  if (error instanceof ApplyRefused) return error;
  if (!isStateError(error, 'too-large', 'rows-max', 'quota')) return undefined;
  return new ApplyRefused(Code.ResourceExhausted, error.message);
}

/** Decodes, validates and sorts the instances, so that their order makes no difference. @throws ApplyRefused */
function instancesOf(name: string, { Nodes }: ExportedService): readonly Instance[] {
  const instances = Nodes.map(instanceFromWire).filter((instance) => instance !== undefined);
  if (instances.length < Nodes.length) {
    throw new ApplyRefused(Code.InvalidArgument, `service "${name}" has an instance without a node or a service`);
  }
  for (const instance of instances) checkInstance(name, instance);
  return instances.sort(byNodeAndId);
}

const byNodeAndId = (a: Instance, b: Instance): number =>
  compare(a.node.name, b.node.name) || compare(a.service.id, b.service.id);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
