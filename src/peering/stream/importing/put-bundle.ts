/**
 * Stores the trust bundle of a peer, bound to the peer's trust domain ([STREAM-100]). A mesh trusts every service of a
 * domain whose certificate chains to a root of its bundle, so a peer must not add a root to the domain of another one.
 */
import { Code } from '@connectrpc/connect';
import type { Transaction } from '../../../state/write/transaction.ts';
import { peerings } from '../../record/record.ts';
import { links } from '../../record/secrets.ts';
import { type TrustBundle, trustBundles } from '../../record/trust-bundle.ts';
import { ApplyRefused } from '../contract.ts';

type Bundle = Omit<TrustBundle, 'peeringId'>;

/** The bundle has a root that the first peering with its trust domain does not have. */
export class ForeignRoots extends ApplyRefused {}

/** Stores the bundle for TLS and for the mesh. @param own this cluster's trust domain @throws ApplyRefused */
export function putBundle(tx: Transaction, peeringId: string, bundle: Bundle, own: string): void {
  const { trustDomain, roots } = bundle;
  const link = tx.get(links, peeringId)?.row;
  const stored = tx.get(trustBundles, peeringId)?.row;
  if (isSameDomain(trustDomain, own)) throw refused(trustDomain, 'that is the domain of this cluster');
  if (link !== undefined && link.trustDomain !== '') {
    if (!isSameDomain(link.trustDomain, trustDomain))
      throw refused(trustDomain, `want that of the token, "${link.trustDomain}"`);
  } else {
    checkClaim(tx, peeringId, bundle, stored);
  }
  if (link !== undefined && link.roots.join() !== roots.join()) tx.put(links, { ...link, roots });
  if (stored?.trustDomain === trustDomain && stored.roots.join() === roots.join()) return;
  tx.put(trustBundles, { peeringId, trustDomain, roots });
}

/**
 * Checks a domain that no token proves. The first bundle binds the peering to its domain. Of several peerings with one
 * cluster, such as with two of its partitions, the one with a token or else the first one decides on the roots.
 */
function checkClaim(tx: Transaction, peeringId: string, { trustDomain, roots }: Bundle, stored?: TrustBundle): void {
  if (stored !== undefined && !isSameDomain(stored.trustDomain, trustDomain)) {
    const remedy = 'to peer with another cluster, delete the peering first';
    throw refused(trustDomain, `this peering is with "${stored.trustDomain}"; ${remedy}`);
  }
  const decisive = decisiveBundle(tx, trustDomain);
  if (decisive === undefined || decisive.peeringId === peeringId) return;
  if (roots.every((root) => decisive.roots.includes(root))) return;
  const name = tx.get(peerings, decisive.peeringId)?.row.name ?? '';
  throw new ForeignRoots(
    Code.InvalidArgument,
    `the trust bundle is of "${trustDomain}": that is the domain of peer "${name}", which has other CA roots`,
  );
}

/** Returns the bundle of the peering that decides on the roots of a trust domain. Scans all bundles, which are few. */
function decisiveBundle(tx: Transaction, trustDomain: string): TrustBundle | undefined {
  const claims = tx
    .all(trustBundles)
    .filter(({ row }) => isSameDomain(row.trustDomain, trustDomain))
    .filter(({ row }) => tx.get(peerings, row.peeringId)?.row.state !== 'TERMINATED')
    .sort((a, b) => a.createIndex - b.createIndex || (a.row.peeringId < b.row.peeringId ? -1 : 1));
  const proven = claims.find(({ row }) =>
    isSameDomain(tx.get(links, row.peeringId)?.row.trustDomain ?? '', trustDomain),
  );
  return (proven ?? claims[0])?.row;
}

/** Domains are DNS names, which ignore case. */
const isSameDomain = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

const refused = (trustDomain: string, reason: string): ApplyRefused =>
  new ApplyRefused(Code.InvalidArgument, `the trust bundle is of "${trustDomain}": ${reason}`);
