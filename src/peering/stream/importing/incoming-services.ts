/**
 * Takes the services that a peer exports. What comes side by side becomes one commit, and what is as it was writes nothing:
 * after a reconnect everything comes again. A service that cannot be taken is refused and marked; the others go on.
 */
import { hash } from 'node:crypto';
import { Code } from '@connectrpc/connect';
import { isStateError } from '../../../state/errors.ts';
import type { State } from '../../../state/state.ts';
import type { DeepReadonly, Table } from '../../../state/table.ts';
import { importProblems } from '../../catalog/tables/import-problem.ts';
import { type ImportedService, importedServiceKey, importedServices } from '../../catalog/tables/imported-service.ts';
import type { Instance } from '../../catalog/tables/instance.ts';
import { nameKey } from '../../config-entries/config-entry.ts';
import { IMPORT_PROBLEMS_MAX, REMOVAL_BATCH_ROWS } from '../../limits.ts';
import { peerings } from '../../record/record.ts';
import { ApplyRefused } from '../contract.ts';
import type { ExportedService, ExportedServiceList } from '../wire/gen/peering/peerstream_pb.ts';
import { bounded } from '../wire/messages.ts';
import type { FencedWrites } from './fenced-writes.ts';
import type { IncomingNotes } from './import-notes.ts';
import { type Amount, amountOf, createImportTally, IMPORTS_MAX, type ImportTally } from './import-usage.ts';
import { instanceFromWire } from './instance-from-wire.ts';
import { serviceNames, usableName } from './service-names.ts';

/** One service as it came. */
export interface ReceivedService {
  readonly name: string;
  readonly message: ExportedService;
  readonly encoded: Uint8Array;
}

export interface IncomingServices {
  /** @throws ApplyRefused, SessionSuperseded, StateError */
  list(message: ExportedServiceList, signal: AbortSignal): Promise<void>;
  /** @throws ApplyRefused, SessionSuperseded, StateError */
  service(received: ReceivedService, signal: AbortSignal): Promise<void>;
  /** Marks a service that is refused before it could be looked at. @throws SessionSuperseded, StateError */
  mark(service: string, reason: string, signal: AbortSignal): Promise<void>;
}

/** What the rows of both tables say. */
interface OfPeering {
  readonly peeringId: string;
  readonly service: string;
}

/** Rows of one service; undefined where there is none. */
interface Replacement {
  readonly before: DeepReadonly<ImportedService> | undefined;
  readonly after: ImportedService | undefined;
}

/** What one stream brings. @param most of it, of everything that is there of the peering */
export function incomingServices(
  state: State,
  peeringId: string,
  writes: FencedWrites,
  notes: Pick<IncomingNotes, 'note' | 'noteList'>,
  most: Amount = IMPORTS_MAX,
): IncomingServices {
  /** Only the stream that counts changes what is counted; undefined: it is to be counted. */
  let tally: ImportTally | undefined;

  async function list({ Services }: ExportedServiceList, signal: AbortSignal): Promise<void> {
    const names = serviceNames(Services);
    const row = await writes.current();
    // In bounded commits, the names first: what they leave out is found by nobody any more.
    if (!isSameList(row.imported, names)) {
      await writes.write(signal, (tx, now) => tx.put(peerings, { ...now, imported: names }));
    }
    const named = new Set(names.map((name) => importedServiceKey(peeringId, name)));
    // It is counted again: whatever of this is done, and nothing else is applied meanwhile.
    tally = undefined;
    await dropOthers(importedServices, named, signal);
    await dropOthers(importProblems, named, signal);
    notes.noteList(new Set(names.map(nameKey)));
  }

  async function dropOthers<Row extends OfPeering>(
    table: Table<Row, 'peering'>,
    named: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<void> {
    const keys = state.snapshot
      .list(table, 'peering', peeringId)
      .map(({ row: { service } }) => importedServiceKey(peeringId, service))
      .filter((key) => !named.has(key));
    for (let from = 0; from < keys.length; from += REMOVAL_BATCH_ROWS) {
      await writes.write(signal, (tx) => {
        for (const key of keys.slice(from, from + REMOVAL_BATCH_ROWS)) tx.delete(table, key);
      });
    }
  }

  async function service(received: ReceivedService, signal: AbortSignal): Promise<void> {
    usableName(received.name);
    try {
      const contentHash = hash('sha256', received.encoded, 'base64url');
      await take({ ...received, contentHash }, signal);
      notes.note(received.name, contentHash);
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === undefined) throw error;
      await mark(received.name, refusal.message, signal);
      throw refusal;
    }
  }

  async function take(
    { name, message, contentHash }: ReceivedService & { readonly contentHash: string },
    signal: AbortSignal,
  ): Promise<void> {
    const key = importedServiceKey(peeringId, name);
    await writes.current();
    const { snapshot } = state;
    const standing = snapshot.get(importedServices, key)?.row;
    const marked = snapshot.get(importProblems, key) !== undefined;
    const isStanding = standing?.service === name && standing.contentHash === contentHash;
    if (isStanding && !marked) return;
    const instances = isStanding ? standing.instances : instancesOf(name, message);
    const json = JSON.stringify(instances);
    const bytes = Buffer.byteLength(json);
    // A peer that sends maps in another order each time sends the same in other bytes.
    const isSame =
      standing?.service === name && standing.bytes === bytes && JSON.stringify(standing.instances) === json;
    if (!marked && isSame) return;
    if (!marked && standing === undefined && instances.length === 0) return;
    const row = { peeringId, service: name, contentHash, instances, bytes };
    await keep(key, { before: standing, after: instances.length === 0 ? undefined : row }, signal);
  }

  /** Puts one row in the place of another and removes the mark. @throws ApplyRefused with the name of a limit */
  async function keep(key: string, { before, after }: Replacement, signal: AbortSignal): Promise<void> {
    tally ??= createImportTally(
      state.snapshot.list(importedServices, 'peering', peeringId).map(({ row }) => row),
      most,
    );
    const undo = tally.replace(amountOf(before), amountOf(after));
    try {
      await writes.write(signal, (tx) => {
        tx.delete(importProblems, key);
        if (after === undefined) tx.delete(importedServices, key);
        else tx.put(importedServices, after);
      });
    } catch (error) {
      undo();
      throw error;
    }
  }

  /** Says that a service could not be taken; what there was of it stays. */
  async function mark(service: string, message: string, signal: AbortSignal): Promise<void> {
    const key = importedServiceKey(peeringId, service);
    const reason = bounded(message);
    await writes.write(signal, (tx) => {
      const standing = tx.get(importProblems, key)?.row;
      if (standing?.reason === reason) return;
      const all = tx.list(importProblems, 'peering', peeringId, { limit: IMPORT_PROBLEMS_MAX });
      if (standing === undefined && all.length === IMPORT_PROBLEMS_MAX) return;
      tx.put(importProblems, { peeringId, service, reason, since: new Date(tx.now).toISOString() });
    });
  }

  return { list, service, mark };
}

/** Why the peer is to be told that the service was not taken; undefined: that is not for it to know. */
function refusalOf(error: unknown): ApplyRefused | undefined {
  if (error instanceof ApplyRefused) return error;
  if (!isStateError(error, 'too-large', 'rows-max')) return undefined;
  return new ApplyRefused(Code.ResourceExhausted, error.message);
}

/** Sorted, so that the same instances are the same, in whatever order they come. @throws ApplyRefused */
function instancesOf(name: string, { Nodes }: ExportedService): readonly Instance[] {
  const instances = Nodes.map(instanceFromWire).filter((instance) => instance !== undefined);
  if (instances.length === Nodes.length) return instances.sort(byNodeAndId);
  throw new ApplyRefused(Code.InvalidArgument, `service "${name}" has an instance without a node or a service`);
}

const byNodeAndId = (a: Instance, b: Instance): number =>
  compare(a.node.name, b.node.name) || compare(a.service.id, b.service.id);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((name, i) => name === b[i]);
