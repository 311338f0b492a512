/**
 * Applies what a peer sends. Every write looks first whether this stream still is the one that counts: of two streams
 * for one peering, what the older one brings late changes nothing.
 */
import { Code } from '@connectrpc/connect';
import type { Clock } from '../../state/clock.ts';
import type { State } from '../../state/state.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Transaction } from '../../state/transaction.ts';
import { importedServiceKey, importedServices } from '../catalog/imported-service.ts';
import { ADDRESSES_MAX, REMOVAL_BATCH_ROWS } from '../limits.ts';
import { type CurrentStream, isCurrent, type Peering, peerings } from '../record.ts';
import { links } from '../secrets.ts';
import { isServerAddress } from '../server-address.ts';
import { parseRoots, RootError } from '../trust/roots.ts';
import { trustBundles } from '../trust-bundle.ts';
import { ApplyRefused, type IncomingResources, SessionSuperseded } from './contract.ts';
import type { PeeringServerAddresses, PeeringTrustBundle } from './gen/peering/peering_pb.ts';
import type { ExportedService, ExportedServiceList } from './gen/peering/peerstream_pb.ts';
import { instanceFromWire } from './instance-from-wire.ts';
import type { Resource } from './resources.ts';

type CurrentRow = DeepReadonly<Peering> & { readonly stream: CurrentStream };

/**
 * What a stream of this peering brings, once its epoch is known: resources that come before wait for it.
 * @param epoch rejects when the stream never became the one that counts
 */
export function incomingResources(
  { state, clock }: { readonly state: State; readonly clock: Clock },
  peeringId: string,
  epoch: Promise<number>,
): IncomingResources {
  /** A write that only counts while the stream does. */
  async function apply<T>(signal: AbortSignal, change: (tx: Transaction, row: CurrentRow) => T): Promise<T> {
    const mine = await epoch;
    return await state.write(
      (tx) => {
        const row = tx.get(peerings, peeringId)?.row;
        if (!isCurrent(row, mine)) throw new SessionSuperseded();
        return change(tx, row);
      },
      { signal },
    );
  }

  async function applyList({ Services }: ExportedServiceList, signal: AbortSignal): Promise<void> {
    const names = [...new Set(Services)].sort();
    const named = new Set(names);
    // In bounded commits, the names first: what they leave out is found by nobody any more.
    await apply(signal, (tx, row) => {
      if (row.imported.join() !== names.join()) tx.put(peerings, { ...row, imported: names });
    });
    const dropped = state.snapshot
      .list(importedServices, 'peering', peeringId)
      .filter(({ row }) => !named.has(row.service));
    for (let from = 0; from < dropped.length; from += REMOVAL_BATCH_ROWS) {
      const keys = dropped.slice(from, from + REMOVAL_BATCH_ROWS).map(({ row }) => importedServices.key(row));
      await apply(signal, (tx) => {
        for (const key of keys) tx.delete(importedServices, key);
      });
    }
  }

  async function applyService(name: string, { Nodes }: ExportedService, signal: AbortSignal): Promise<void> {
    if (name === '') throw new ApplyRefused(Code.InvalidArgument, 'a service without a name');
    const instances = Nodes.map(instanceFromWire).filter((instance) => instance !== undefined);
    if (instances.length < Nodes.length) {
      throw new ApplyRefused(Code.InvalidArgument, `service "${name}" has an instance without a node or a service`);
    }
    await apply(signal, (tx) => {
      if (instances.length === 0) tx.delete(importedServices, importedServiceKey(peeringId, name));
      else tx.put(importedServices, { peeringId, service: name, instances });
    });
  }

  async function applyRoots({ TrustDomain, RootPEMs }: PeeringTrustBundle, signal: AbortSignal): Promise<void> {
    const roots = usableRoots(RootPEMs, clock.now());
    await apply(signal, (tx) => {
      const link = tx.get(links, peeringId)?.row;
      if (link !== undefined && link.trustDomain !== '' && link.trustDomain !== TrustDomain) {
        const wanted = `want that of the token, "${link.trustDomain}"`;
        throw new ApplyRefused(Code.InvalidArgument, `the trust bundle is of "${TrustDomain}": ${wanted}`);
      }
      if (link !== undefined && link.roots.join() !== roots.join()) tx.put(links, { ...link, roots });
      const bundle = tx.get(trustBundles, peeringId)?.row;
      if (bundle?.trustDomain === TrustDomain && bundle.roots.join() === roots.join()) return;
      tx.put(trustBundles, { peeringId, trustDomain: TrustDomain, roots });
    });
  }

  async function applyAddresses({ Addresses }: PeeringServerAddresses, signal: AbortSignal): Promise<void> {
    const unusable = Addresses.find((address) => !isServerAddress(address));
    if (unusable !== undefined) {
      throw new ApplyRefused(Code.InvalidArgument, `${unusable} is not a valid peering server address`);
    }
    const addresses = [...new Set(Addresses)].slice(0, ADDRESSES_MAX);
    if (addresses.length === 0)
      throw new ApplyRefused(Code.InvalidArgument, 'no server address: the old ones are kept');
    await apply(signal, (tx, row) => {
      const { peer } = row;
      // Those that somebody gave by hand lead through something that the peer does not know of.
      if (peer === undefined || peer.manual || peer.addresses.join() === addresses.join()) return;
      tx.put(peerings, { ...row, peer: { ...peer, addresses } });
    });
  }

  return {
    async apply(resource: Resource, _first: boolean, signal: AbortSignal): Promise<void> {
      if (resource.kind === 'list') await applyList(resource.message, signal);
      else if (resource.kind === 'service') await applyService(resource.id, resource.message, signal);
      else if (resource.kind === 'roots') await applyRoots(resource.message, signal);
      else if (resource.kind === 'server-addresses') await applyAddresses(resource.message, signal);
      else throw new ApplyRefused(Code.Unimplemented, `resources of type ${resource.kind} are not asked for`);
    },
  };
}

/** Roots that can be trusted: a bundle that names none, or what is none, would lock the peer out. @throws ApplyRefused */
function usableRoots(pems: readonly string[], nowMs: number): readonly string[] {
  if (pems.length === 0) throw new ApplyRefused(Code.InvalidArgument, 'the trust bundle names no root');
  try {
    return parseRoots(pems, nowMs).map(({ pem }) => pem);
  } catch (error) {
    if (error instanceof RootError) throw new ApplyRefused(Code.InvalidArgument, `the trust bundle: ${error.message}`);
    throw error;
  }
}
