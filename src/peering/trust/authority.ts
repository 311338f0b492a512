/**
 * The cluster's certificate authority: one row that says which root is served, which others are trusted, and where a
 * rotation stands. Pure; every function gives the next row, or `undefined` where nothing may change.
 *
 *     (none) ── announced ──────────▶ switched ─────────▶ (none)
 *               both trusted,         both trusted,       the new one alone
 *               the old one served    the new one served
 *
 * One row, because a root that is served and not trusted, or trusted and not there, would cut off peers: no crash and no
 * second server can leave one part changed without the other. From both stages there is a way back.
 */
import type { Reader } from '../../state/memory/reader.ts';
import { type DeepReadonly, defineTable } from '../../state/table.ts';
import type { SecretStore, StoredSecret } from '../record/encrypted-secret.ts';
import { ANNOUNCED_MS, CHECK_ANNOUNCED_MS, CHECK_MS, RENEWAL_SHARE, ROOT_LEFT_MS, SWITCHED_MS } from './limits.ts';

/** A certificate with its private key. */
export interface Issued {
  /** PEM, ending in a newline. */
  readonly certificate: string;
  /** PKCS #8 in PEM. */
  readonly key: StoredSecret;
  /** SHA-256 of the certificate as OpenSSL shows it: `AB:CD:…`. */
  readonly fingerprint: string;
  /** RFC 3339, as all times here. */
  readonly notBefore: string;
  readonly notAfter: string;
}

/** A root and the server certificate that it vouches for. */
export interface Authority {
  /** UUID. */
  readonly id: string;
  readonly root: Issued;
  readonly server: Issued;
}

/** A change of the root that is under way. */
export type Rotation =
  | { readonly stage: 'announced'; readonly next: Authority; readonly since: string }
  | { readonly stage: 'switched'; readonly previous: Authority; readonly since: string };

export interface CertificateAuthority {
  readonly id: typeof AUTHORITY_KEY;
  /** Its server certificate is served. */
  readonly current: Authority;
  readonly rotation?: Rotation;
  /** What the last rotation that ended has retired: it cannot come back. */
  readonly retired?: { readonly id: string; readonly time: string };
}

/** The row's only key. */
export const AUTHORITY_KEY = 'authority';

export const authorities = defineTable<CertificateAuthority>()({
  name: 'certificate-authority',
  key: (row) => row.id,
  formats: { version: 1 },
  indexes: {},
  holdsSecrets: true,
});

type Row = DeepReadonly<CertificateAuthority>;

/** The row. @throws TypeError before the first start has made it; a mistake in code */
export function authorityOf(reader: Reader): Row {
  const stored = reader.get(authorities, AUTHORITY_KEY);
  if (stored === undefined) throw new TypeError('the certificate authority is made when the server identity is opened');
  return stored.row;
}

/** Where the keys of an authority stand, whatever stage it is in. */
export const rootKeyPlace = (id: string): string => `${authorities.name}/${id}/root`;
export const serverKeyPlace = (id: string): string => `${authorities.name}/${id}/server`;

/** The authorities whose roots are trusted, the served one first. */
export function trustedAuthorities({ current, rotation }: Row): readonly Authority[] {
  if (rotation === undefined) return [current];
  return [current, rotation.stage === 'announced' ? rotation.next : rotation.previous];
}

/** The roots that tokens and the trust bundle name, PEM, the served one first. */
export const bundleOf = (row: Row): readonly string[] => trustedAuthorities(row).map(({ root }) => root.certificate);

/** A row as it begins. */
export const newAuthority = (current: Authority): CertificateAuthority => ({ id: AUTHORITY_KEY, current });

/** The new root is trusted from now on. Undefined: a rotation is under way. */
export function announced(row: Row, next: Authority, now: string): Row | undefined {
  return row.rotation === undefined ? { ...row, rotation: { stage: 'announced', next, since: now } } : undefined;
}

/** The new root is served from now on. Undefined: none is announced. */
export function switched(row: Row, now: string): Row | undefined {
  if (row.rotation?.stage !== 'announced') return undefined;
  const { current: previous, rotation } = row;
  return { ...row, current: rotation.next, rotation: { stage: 'switched', previous, since: now } };
}

/** The old root is trusted no more, and its key is gone. Undefined: the new one is not served yet. */
export function retired(row: Row, now: string): Row | undefined {
  if (row.rotation?.stage !== 'switched') return undefined;
  const { rotation, ...kept } = row;
  return { ...kept, retired: { id: rotation.previous.id, time: now } };
}

/** As before the rotation: the new root is neither served nor trusted. Undefined: no rotation is under way. */
export function rotatedBack(row: Row): Row | undefined {
  const { rotation, ...kept } = row;
  if (rotation === undefined) return undefined;
  return rotation.stage === 'announced' ? kept : { ...kept, current: rotation.previous };
}

/** The served root has a new server certificate. Undefined: another root is served by now. */
export function serverRenewed(row: Row, id: string, server: Issued): Row | undefined {
  return row.current.id === id ? { ...row, current: { ...row.current, server } } : undefined;
}

/** With every key that lies in clear sealed. Undefined: nothing to seal. */
export function keysSealed(row: Row, secrets: SecretStore): Row | undefined {
  let changed = false;
  const seal = (issued: Issued, place: string): Issued => {
    const key = secrets.renew(issued.key, place);
    changed ||= key !== issued.key;
    return { ...issued, key };
  };
  const sealed = ({ id, root, server }: Authority): Authority => ({
    id,
    root: seal(root, rootKeyPlace(id)),
    server: seal(server, serverKeyPlace(id)),
  });
  const { current, rotation } = row;
  const next: Row = {
    ...row,
    current: sealed(current),
    ...(rotation && { rotation: sealedRotation(rotation, sealed) }),
  };
  return changed ? next : undefined;
}

function sealedRotation(rotation: Rotation, sealed: (authority: Authority) => Authority): Rotation {
  return rotation.stage === 'announced'
    ? { ...rotation, next: sealed(rotation.next) }
    : { ...rotation, previous: sealed(rotation.previous) };
}

/** What is to be done by itself, or until when nothing is. */
export type Step =
  | { readonly action: 'renew' | 'rotate' | 'switch' | 'retire' }
  | { readonly action: 'wait'; readonly ms: number };

/** The next step at `nowMs`. @param unacknowledged peers that are waited for and do not trust the announced root yet */
export function nextStep(row: Row, unacknowledged: number, nowMs: number): Step {
  const { current, rotation } = row;
  if (renewalMs(current.server) <= nowMs) return { action: 'renew' };
  if (rotation === undefined) {
    const rotateMs = Date.parse(current.root.notAfter) - ROOT_LEFT_MS;
    return rotateMs <= nowMs ? { action: 'rotate' } : { action: 'wait', ms: CHECK_MS };
  }
  const over = stageEndMs(rotation) <= nowMs;
  if (rotation.stage === 'switched') return over ? { action: 'retire' } : { action: 'wait', ms: CHECK_MS };
  return over || unacknowledged === 0 ? { action: 'switch' } : { action: 'wait', ms: CHECK_ANNOUNCED_MS };
}

/** When a certificate is renewed, in milliseconds since 1970. */
export function renewalMs({ notBefore, notAfter }: Issued): number {
  const beginMs = Date.parse(notBefore);
  return beginMs + (Date.parse(notAfter) - beginMs) * RENEWAL_SHARE;
}

/** When a stage ends at the latest, in milliseconds since 1970. */
export function stageEndMs({ stage, since }: Pick<Rotation, 'stage' | 'since'>): number {
  return Date.parse(since) + (stage === 'announced' ? ANNOUNCED_MS : SWITCHED_MS);
}
